#include "model/error.hpp"

namespace comptroller {

Error Error::field(Code code, std::string_view field, std::string message) {
  std::string detail = std::string(field) + ": " + message;
  return {code, std::move(detail), {FieldError{std::string(field), std::move(message)}}};
}

Error Error::conflict(std::string detail, std::string existing) {
  Error error(Code::already_exists, std::move(detail));
  error.existing_ = std::move(existing);
  return error;
}

}  // namespace comptroller
