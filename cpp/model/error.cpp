#include "model/error.hpp"

#include "model/wording.hpp"

namespace comptroller {

Error Error::field(Code code, std::string_view field, std::string message) {
  std::string name = shorten(field);
  std::string detail = name + ": " + message;
  return {code, std::move(detail), {FieldError{std::move(name), std::move(message)}}};
}

Error Error::fields(std::vector<FieldError> errors) {
  constexpr std::size_t most_in_detail = 5;
  constexpr std::size_t most_reported = 20;
  std::string detail;
  for (std::size_t index = 0; index < errors.size(); ++index) {
    errors[index].field = shorten(errors[index].field);
    if (index >= most_in_detail) continue;
    detail += (index > 0 ? "; " : "") + errors[index].field + ": " + errors[index].message;
  }
  if (errors.size() > most_in_detail) {
    detail += "; and " + std::to_string(errors.size() - most_in_detail) + " more";
  }
  if (errors.size() > most_reported) errors.resize(most_reported);
  return {Code::invalid_request, std::move(detail), std::move(errors)};
}

Error Error::conflict(std::string detail, std::string existing) {
  Error error(Code::already_exists, std::move(detail));
  error.existing_ = std::move(existing);
  return error;
}

}  // namespace comptroller
