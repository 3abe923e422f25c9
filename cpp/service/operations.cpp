#include "service/operations.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "model/wording.hpp"

namespace comptroller::service {

std::span<const Operation> operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> joined;
    for (const auto& part : {identity_operations(), orchestration_operations(), reward_operations(),
                             journal_operations(), webhook_operations()}) {
      joined.insert(joined.end(), part.begin(), part.end());
    }
    return joined;
  }();
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto all = operations();
  const auto found = std::ranges::find(all, name, &Operation::name);
  return found == all.end() ? nullptr : &*found;
}

const Operation& require_operation(std::string_view name) {
  if (const Operation* found = find_operation(name)) return *found;
  throw Error(Code::not_found, "there is no operation " + shorten(name));
}

std::string_view scope_to_read(std::string_view table) {
  return require_operation(std::string(table) + ".list").scope;
}

bool is_short(const Principal& principal, const Operation& operation,
              std::span<const Parameter> parameters) {
  if (parameters.size() > max_short_parameters) return false;
  if (operation.request_source != RequestSource::parameters) return true;
  try {
    const Call call{&operation, {parameters.begin(), parameters.end()}};
    return operation.prepare(operation, principal, call).is_short;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace comptroller::service
