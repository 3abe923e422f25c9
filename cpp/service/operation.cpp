#include "service/operation.hpp"

#include <algorithm>

#include "service/authorisation.hpp"

namespace comptroller::service {

void add_implied(Operation& operation, bool names_customer) {
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

}  // namespace comptroller::service
