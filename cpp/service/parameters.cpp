#include "service/parameters.hpp"

namespace comptroller::service {

void ParameterErrors::throw_if_any() {
  if (errors_.empty()) return;
  std::string detail = errors_.front().field + ": " + errors_.front().message;
  if (errors_.size() > 1) detail += " (and " + std::to_string(errors_.size() - 1) + " more)";
  throw Error(Code::invalid_request, std::move(detail), std::move(errors_));
}

void refuse_parameters(std::span<const Parameter> parameters) {
  ParameterErrors errors;
  for (const Parameter& parameter : parameters) {
    errors.add(parameter.name, unknown_name_message(parameter.name, {}));
  }
  errors.throw_if_any();
}

}  // namespace comptroller::service
