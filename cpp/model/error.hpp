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

// One row per code: its name, its text, the status of HTTP and the title.
#define COMPTROLLER_PROBLEMS(ROW)                                                                \
  ROW(malformed_json, "malformed-json", 400, "The body is not JSON")                             \
  ROW(invalid_request, "invalid-request", 400, "The request is not valid")                       \
  ROW(invalid_cursor, "invalid-cursor", 400, "The page cursor is not valid")                     \
  ROW(id_mismatch, "id-mismatch", 400, "The ids differ")                                         \
  ROW(ledger_mismatch, "ledger-mismatch", 400, "The ledgers differ")                             \
  ROW(unauthenticated, "unauthenticated", 401, "No valid credentials")                           \
  ROW(insufficient_scope, "insufficient-scope", 403, "A scope is missing")                       \
  ROW(control_type_not_permitted, "control-type-not-permitted", 403,                             \
      "The control type is not permitted")                                                       \
  ROW(control_not_overridable, "control-not-overridable", 403, "The control is not overridable") \
  ROW(customer_not_accessible, "customer-not-accessible", 403, "The customer is not accessible") \
  ROW(not_found, "not-found", 404, "Not found")                                                  \
  ROW(method_not_allowed, "method-not-allowed", 405, "The method is not allowed")                \
  ROW(already_exists, "already-exists", 409, "Already exists")                                   \
  ROW(already_deleted, "already-deleted", 409, "Already deleted")                                \
  ROW(illegal_transition, "illegal-transition", 409, "The transition is not allowed")            \
  ROW(idempotency_in_flight, "idempotency-in-flight", 409, "The same idempotency key is in use") \
  ROW(content_too_large, "content-too-large", 413, "The content is too large")                   \
  ROW(unsupported_media_type, "unsupported-media-type", 415, "The media type is not supported")  \
  ROW(idempotency_key_reused, "idempotency-key-reused", 422,                                     \
      "The idempotency key was used for another request")                                        \
  ROW(rate_limited, "rate-limited", 429, "Too many requests")                                    \
  ROW(internal, "internal", 500, "Internal error")                                               \
  ROW(unavailable, "unavailable", 503, "Unavailable")                                            \
  ROW(closed, "closed", 503, "The service is closed")                                            \
  ROW(read_only, "read-only", 403, "The store is read-only")                                     \
  ROW(unsupported, "unsupported", 501, "Not supported here")                                     \
  ROW(unusable, "unusable", 500, "The store or a file cannot be used")                           \
  ROW(outcome_unknown, "outcome-unknown", 504, "Whether the write was executed is not known")

enum class Code : std::uint8_t {
#define NAME(name, text, status, title) name,
  COMPTROLLER_PROBLEMS(NAME)
#undef NAME
};

struct Problem {
  RECORD(Problem);
  FIELD(std::string_view, code);
  FIELD(int, status);
  FIELD(std::string_view, title);
};

// In the order of Code.
inline constexpr auto problems = std::to_array<Problem>({
#define PROBLEM(name, text, status, title) {text, status, title},
    COMPTROLLER_PROBLEMS(PROBLEM)
#undef PROBLEM
});

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
