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

// One row per code: its name, the status of HTTP, the title, the explanation, and what the caller
// can do. The rows make the pages of problems over HTTP and the tables of codes in the
// documentation.
#define COMPTROLLER_PROBLEMS(ROW)                                                             \
  ROW(malformed_json, 400, "The body is not JSON",                                            \
      "The body is not JSON (RFC 8259), is not UTF-8, is cut off, has an escape that is not " \
      "a Unicode scalar value, or is nested deeper than 32 levels.",                          \
      "Send one JSON object in UTF-8, in Python the output of json.dumps; the detail names "  \
      "the error.")                                                                           \
  ROW(invalid_request, 400, "The request is not valid",                                       \
      "A member or parameter of the request is unknown, missing, repeated, or has an "        \
      "invalid value, such as a float as an amount or a time without an offset.",             \
      "Read errors, which names each invalid member and the accepted values. Repeating the "  \
      "same request gives the same response.")                                                \
  ROW(invalid_cursor, 400, "The page cursor is not valid",                                    \
      "The page cursor does not belong to this list. A cursor is valid for one store, "       \
      "operation, customer, set of filters and order, and must not be changed.",              \
      "Send next_page_cursor of the previous page unchanged, with the same filters and "      \
      "order; limit may differ. Otherwise start with the first page.")                        \
  ROW(id_mismatch, 400, "The ids differ", "The ids in the body and in the path differ.",      \
      "Omit the id in the body, or use that of the path.")                                    \
  ROW(ledger_mismatch, 400, "The ledgers differ",                                             \
      "A reward address can only be attributed to a payout group on its own ledger.",         \
      "Name a payout group on the ledger of the address.")                                    \
  ROW(unauthenticated, 401, "No valid credentials",                                           \
      "There is no valid access token: none was sent, or it has expired, was revoked, or "    \
      "was not issued for this service.",                                                     \
      "Get a new token from the token endpoint and send it as Authorization: Bearer. "        \
      "WWW-Authenticate and the server's log say what is wrong with one that was sent.")      \
  ROW(insufficient_scope, 403, "A scope is missing",                                          \
      "The access token is valid, but lacks the scope that the operation needs.",             \
      "The detail and WWW-Authenticate name the scope. Request a token with it. If the "      \
      "client is not registered with the scope, only the operator can grant it.")             \
  ROW(control_type_not_permitted, 403, "The control type is not permitted",                   \
      "Clients may create controls of the types SELL_ONLY, CLOSED and DORMANT. Only the "     \
      "operator may create FROZEN.",                                                          \
      "Choose one of the three types, or ask the operator.")                                  \
  ROW(control_not_overridable, 403, "The control is not overridable",                         \
      "The operator of the service set the control, and only the operator can delete it; "    \
      "admin_disabled shows such a control.",                                                 \
      "Ask the operator. is_overridable shows which controls a client may delete.")           \
  ROW(customer_not_accessible, 403, "The customer is not accessible",                         \
      "A client may only name its own customer in customer_id.",                              \
      "Omit customer_id; the access token names the customer.")                               \
  ROW(not_found, 404, "Not found",                                                            \
      "There is no record with this id, or no resource at this path. The response is the "    \
      "same for a record of another customer.",                                               \
      "Check the id and the path, and whether the token belongs to the customer of the "      \
      "record.")                                                                              \
  ROW(method_not_allowed, 405, "The method is not allowed",                                   \
      "The path exists, but does not accept this method.",                                    \
      "Use one of the methods that the header Allow lists.")                                  \
  ROW(already_exists, 409, "Already exists",                                                  \
      "The record exists already: a control of this type by the same setter, an address on "  \
      "this ledger, or a record with this id and other content.",                             \
      "Use the existing record; if it is yours, meta.existing is its id.")                    \
  ROW(already_deleted, 409, "Already deleted", "The control was already deleted.",            \
      "Nothing is left to do. With an Idempotency-Key, a repeated request gets the first "    \
      "response instead of this error.")                                                      \
  ROW(illegal_transition, 409, "The transition is not allowed",                               \
      "The status of the claim does not permit this transition. A claim transitions from "    \
      "PENDING to SUBMITTED or FAILED, and from SUBMITTED to CONFIRMED or FAILED.",           \
      "Read the claim again; another caller may have changed its status. In a load, correct " \
      "the source.")                                                                          \
  ROW(idempotency_in_flight, 409, "The same idempotency key is in use",                       \
      "A request with the same Idempotency-Key is still being executed.",                     \
      "Repeat the request later; it gets the response of the first request.")                 \
  ROW(content_too_large, 413, "The content is too large",                                     \
      "The body, or a line of a load, is larger than 1 MiB.",                                 \
      "Send a smaller body. For many records use a load, whose length has no limit.")         \
  ROW(unsupported_media_type, 415, "The media type is not supported",                         \
      "The operation does not accept the media type of the body.",                            \
      "Send the header Content-Type: application/json for all operations except loads and "   \
      "the token endpoint.")                                                                  \
  ROW(idempotency_key_reused, 422, "The idempotency key was used for another request",        \
      "The Idempotency-Key was used for a different request within the last 24 hours.",       \
      "Use a new key for a new request, and an old key only to repeat exactly the same "      \
      "request.")                                                                             \
  ROW(rate_limited, 429, "Too many requests",                                                 \
      "The client sends more requests than the operator of the service allows.",              \
      "Wait for the seconds in Retry-After, and send requests at a lower rate.")              \
  ROW(internal, 500, "Internal error", "A defect of the service.",                            \
      "Report the request_id to the operator, who finds the cause in the log. A write may "   \
      "have been executed; it can be repeated with the same Idempotency-Key.")                \
  ROW(unavailable, 503, "Unavailable",                                                        \
      "The service cannot answer now, but may later: it is stopping or busy, its disk is "    \
      "full, or another program holds the store.",                                            \
      "Try again after the seconds in Retry-After. Repeat a write with the same "             \
      "Idempotency-Key, because the server may have executed it. The detail has the cause "   \
      "for the operator.")                                                                    \
  ROW(closed, 503, "The service is closed",                                                   \
      "The service was closed, or its process was forked after the store was opened.",        \
      "In Python, open the store or connect again; start child processes with the method "    \
      "spawn or forkserver, or close the store before the fork. Over HTTP, the server is "    \
      "stopping; try again after the seconds in Retry-After.")                                \
  ROW(read_only, 403, "The store is read-only",                                               \
      "The store was opened read-only, and the operation writes.",                            \
      "Send writes to a service that opened the store for writing.")                          \
  ROW(unsupported, 501, "Not supported here",                                                 \
      "The operation is not possible: a remote store cannot be backed up or checked, an "     \
      "optional package is not installed, or a callback of a load writes to the store.",      \
      "Follow the detail. Another attempt gives the same error.")                             \
  ROW(unusable, 500, "The store or a file cannot be used",                                    \
      "The store, or a file that the operation needs, cannot be used: it is damaged, "        \
      "belongs to a newer version, is not a store, exists already, or its permissions "       \
      "forbid access.",                                                                       \
      "Remove the cause, which the detail names; until then another attempt gives the same "  \
      "error. Restore a damaged store from a backup.")                                        \
  ROW(outcome_unknown, 504, "Whether the write was executed is not known",                    \
      "A client sent a write and got no response, or the service lost the connection to its " \
      "PostgreSQL database while it committed the write. The write may have been executed.",  \
      "Repeat it with the same Idempotency-Key, or read the record first.")

enum class Code : std::uint8_t { COMPTROLLER_PROBLEMS(COMPTROLLER_ENUMERATOR) };

struct Problem {
  RECORD(Problem);
  FIELD(std::string_view, code);
  FIELD(int, status);
  FIELD(std::string_view, title);
  FIELD(std::string_view, explanation);
  FIELD(std::string_view, remedy);
};

// In the order of Code.
inline constexpr auto problems = std::to_array<Problem>({
#define PROBLEM(name, ...) {detail::spelled<#name, detail::to_dash>.view(), __VA_ARGS__},
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
