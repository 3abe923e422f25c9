#include "model/error.hpp"

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "model/wording.hpp"

namespace comptroller {

Error Error::field(Code code, std::string_view field, std::string message) {
  std::string name = shorten(field);
  std::string detail = name + ": " + message;
  return {code, std::move(detail), {FieldError{std::move(name), std::move(message)}}};
}

Error Error::fields(std::vector<FieldError> errors) {
  constexpr std::size_t max_fields_in_detail = 5;
  constexpr std::size_t max_reported = 20;
  std::string detail;
  for (std::size_t index = 0; index < errors.size(); ++index) {
    errors[index].field = shorten(errors[index].field);
    if (index >= max_fields_in_detail) continue;
    detail += (index > 0 ? "; " : "") + errors[index].field + ": " + errors[index].message;
  }
  if (errors.size() > max_fields_in_detail) {
    detail += "; and " + std::to_string(errors.size() - max_fields_in_detail) + " more";
  }
  if (errors.size() > max_reported) errors.resize(max_reported);
  return {Code::invalid_request, std::move(detail), std::move(errors)};
}

Error Error::conflict(std::string detail, std::string existing) {
  Error error(Code::already_exists, std::move(detail));
  error.existing_ = std::move(existing);
  return error;
}

Error Error::of_system(int reason, const std::string& what) {
  return {code_of_system(reason), what + ": " + std::generic_category().message(reason)};
}

Code Error::code_of_system(int reason) {
  constexpr std::array passing{EFBIG,  ENOSPC, EDQUOT, EIO,   ENOMEM, EMFILE,   ENFILE,
                               ENOLCK, EAGAIN, EBUSY,  EINTR, ESTALE, ETIMEDOUT};
  const bool may_pass = std::ranges::find(passing, reason) != passing.end();
  return may_pass ? Code::unavailable : Code::unusable;
}

}  // namespace comptroller
