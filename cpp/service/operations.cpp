#include "service/operations.hpp"

#include <algorithm>

#include "service/operation_rows.hpp"

namespace comptroller::service {

void complete(Operation& operation, bool names_customer) {
  const bool is_operators = operation.scope == operator_read || operation.scope == operator_write;
  const bool has_path_id = operation.paths.front().find("{id}") != std::string::npos;
  std::vector<ErrorCase> errors;
  if (operation.is_list) {
    errors.push_back({Code::invalid_cursor, "the cursor belongs to another list, or is damaged"});
  }
  if (has_path_id && std::ranges::find(operation.errors, Code::not_found, &ErrorCase::code) ==
                         operation.errors.end()) {
    errors.push_back({Code::not_found, "no record has this id, or it belongs to another customer"});
  }
  if (is_operators) {
    errors.push_back({Code::insufficient_scope, "the caller is not the operator"});
    operation.details.insert(0, operation.details.empty() ? "Operator only." : "Operator only. ");
  } else if (names_customer) {
    errors.push_back({Code::customer_not_accessible, "a client named another customer"});
  }
  operation.errors.insert(operation.errors.begin(), errors.begin(), errors.end());
}

std::vector<Operation> orchestration_operations() {
  const Endpoints orchestrations{"orchestrations", "/orchestration/orchestrations", versioned(),
                                 "orchestration:read_orchestration", ""};
  return {
      read(orchestrations, &get<Orchestration>, {"get", "Returns one orchestration."}),
      read(orchestrations, &list<ListOrchestrations>, {"list", "Lists orchestrations."}),
      operator_only<RequestSource::body>(
          orchestrations, &put<Orchestration>,
          {.name = "put",
           .summary = "Stores one orchestration, as a load of one line would.",
           .route = "PUT",
           .details = "A newer orchestration replaces the stored one.",
           .errors = {stored_differs}}),
  };
}

std::span<const Operation> operations() {
  static const std::vector<Operation> all = [] {
    std::vector<Operation> joined;
    for (const auto& part :
         {identity_operations(), orchestration_operations(), reward_operations()}) {
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

bool is_short(const Principal& principal, std::string_view operation,
              std::span<const Parameter> parameters) {
  constexpr std::size_t max_parameters = 200;  // an error may name each of them
  if (parameters.size() > max_parameters) return false;
  const Operation* found = find_operation(operation);
  return found == nullptr || !found->is_list || found->is_short_page(principal, parameters);
}

}  // namespace comptroller::service
