// Errors as callers see them. The code of an error is chosen where it is thrown, never derived from
// its message.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/enums.hpp"
#include "model/fields.hpp"

namespace comptroller {

enum class Code : std::uint8_t {
  malformed_json,
  invalid_request,
  invalid_cursor,
  id_mismatch,
  ledger_mismatch,
  unauthenticated,
  insufficient_scope,
  control_type_not_permitted,
  control_not_overridable,
  customer_not_accessible,
  not_found,
  method_not_allowed,
  already_exists,
  already_deleted,
  illegal_transition,
  idempotency_in_flight,
  content_too_large,
  unsupported_media_type,
  idempotency_key_reused,
  rate_limited,
  internal,
  unavailable,
  closed,
  read_only,
  unsupported,
  unusable,
  outcome_unknown,
};

struct Problem {
  RECORD(Problem);
  FIELD(std::string_view, code);
  FIELD(int, status);
  FIELD(std::string_view, title);
};

// One row per code, in the order of Code.
inline constexpr std::array<Problem, 27> problems{{
    {"malformed-json", 400, "The body is not JSON"},
    {"invalid-request", 400, "The request is not valid"},
    {"invalid-cursor", 400, "The page cursor is not valid"},
    {"id-mismatch", 400, "The ids differ"},
    {"ledger-mismatch", 400, "The ledgers differ"},
    {"unauthenticated", 401, "No valid credentials"},
    {"insufficient-scope", 403, "A scope is missing"},
    {"control-type-not-permitted", 403, "The control type is not permitted"},
    {"control-not-overridable", 403, "The control is not overridable"},
    {"customer-not-accessible", 403, "The customer is not accessible"},
    {"not-found", 404, "Not found"},
    {"method-not-allowed", 405, "The method is not allowed"},
    {"already-exists", 409, "Already exists"},
    {"already-deleted", 409, "Already deleted"},
    {"illegal-transition", 409, "The transition is not allowed"},
    {"idempotency-in-flight", 409, "The same idempotency key is in use"},
    {"content-too-large", 413, "The content is too large"},
    {"unsupported-media-type", 415, "The media type is not supported"},
    {"idempotency-key-reused", 422, "The idempotency key was used for another request"},
    {"rate-limited", 429, "Too many requests"},
    {"internal", 500, "Internal error"},
    {"unavailable", 503, "Unavailable"},
    {"closed", 503, "The service is closed"},
    {"read-only", 403, "The store is read-only"},
    {"unsupported", 501, "Not supported here"},
    {"unusable", 500, "The store or a file cannot be used"},
    {"outcome-unknown", 504, "Whether the write was executed is not known"},
}};

constexpr const Problem& problem(Code code) {
  return problems[static_cast<std::size_t>(code)];
}

template <>
inline constexpr auto enum_texts<Code> = [] {
  std::array<std::string_view, problems.size()> codes{};
  for (std::size_t code = 0; code < codes.size(); ++code) codes[code] = problems[code].code;
  return codes;
}();

// An invalid member or parameter, and why. `field` is a path such as `address.ledger`.
struct FieldError {
  std::string field;
  std::string message;

  friend bool operator==(const FieldError&, const FieldError&) = default;
};

class Error : public std::exception {
 public:
  Error(Code code, std::string detail) : code_(code), detail_(std::move(detail)) {}
  Error(Code code, std::string detail, std::vector<FieldError> errors)
      : code_(code), detail_(std::move(detail)), errors_(std::move(errors)) {}

  // One invalid field; the detail repeats its name and message.
  static Error field(Code code, std::string_view field, std::string message);
  static Error invalid(std::string_view field, std::string message) {
    return Error::field(Code::invalid_request, field, std::move(message));
  }
  // Several invalid fields; the detail repeats the first few. `errors` must not be empty.
  static Error fields(std::vector<FieldError> errors);
  // A conflict with a record that the caller may see; the answer shows its id as `meta.existing`.
  static Error conflict(std::string detail, std::string existing);
  // The store contains an invalid value, which no version of comptroller writes.
  static Error damaged(const std::string& what) {
    return {Code::unusable, "the store is damaged: " + what};
  }
  // A failure of the operating system. The detail is `what`, then the system's message for the
  // errno value.
  static Error of_system(int reason, const std::string& what);
  // The code of an errno value: unavailable if the failure may be temporary (no space, memory,
  // descriptor or thread; an I/O error), else unusable.
  static Code code_of_system(int reason);

  Code code() const { return code_; }
  const std::string& detail() const { return detail_; }
  const std::vector<FieldError>& errors() const { return errors_; }
  const std::string& existing() const { return existing_; }
  const char* what() const noexcept override { return detail_.c_str(); }

 private:
  Code code_;
  std::string detail_;
  std::vector<FieldError> errors_;
  std::string existing_;
};

}  // namespace comptroller
