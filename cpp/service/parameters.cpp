#include "service/parameters.hpp"

namespace comptroller::service {

void refuse_parameters(std::span<const Parameter> parameters) {
  std::vector<FieldError> errors;
  for (const Parameter& parameter : parameters) {
    errors.push_back({parameter.name, unknown_name_message(parameter.name, {})});
  }
  if (!errors.empty()) throw Error::fields(std::move(errors));
}

}  // namespace comptroller::service
