// The operations by name (specification 4).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "model/error.hpp"
#include "service/service.hpp"

namespace comptroller::service {

// The sources of the members of a request.
enum class RequestSource : std::uint8_t {
  parameters,   // all from parameters
  path_id,      // from parameters, with `id` in the path: a malformed id is not found
  body,         // all from the body
  id_and_body,  // `id` from the path, other members from the body
  id_in_both,   // the same, but the body may also have the id, which must be equal
  either,       // from parameters or the body; values in both must be equal
};

// An operation without a body is a read.
constexpr bool has_body(RequestSource source) {
  return source != RequestSource::parameters && source != RequestSource::path_id;
}

struct Operation;
using IsShortPage = bool(const Principal&, std::span<const Parameter>);
using Prepare = PreparedCall(const Operation&, const Principal&, const Call&);

// An error code of an operation, and when the operation throws it. Invalid members and missing
// scopes are not listed, because any operation may have them.
struct ErrorCase {
  RECORD(ErrorCase);
  FIELD(Code, code);
  FIELD(std::string_view, when);
};

struct Operation {
  RECORD(Operation);
  FIELD(std::string, name);
  FIELD(std::string_view, scope);  // required of a client; is_write determines the operator's scope
  FIELD(std::string_view, method);
  FIELD(std::vector<std::string>, paths);  // the documentation shows the first
  FIELD(std::string_view, summary);        // one sentence
  FIELD(std::string, details);             // more sentences, may be empty
  FIELD(std::vector<ErrorCase>, errors);
  FIELD(std::string_view, envelope);  // the member that holds the record in an answer over HTTP
  FIELD(std::string_view, body_envelope);  // the member that may hold the request in a body

  // The members below are derived from the handler.
  FIELD(bool, is_write);
  FIELD(bool, is_list);
  FIELD(RequestSource, request_source);
  FIELD(std::string_view, request);  // the type name of its request
  FIELD(std::string_view, answer);   // the type name of its answer, or of the items of a page
  std::function<Prepare> prepare = {};
  IsShortPage* is_short_page = nullptr;  // of a list
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);

// Whether a read usually takes less than a millisecond, and at most a few, in a store of any size.
// A read that will be rejected is short.
bool is_short(const Principal& principal, std::string_view operation,
              std::span<const Parameter> parameters);

}  // namespace comptroller::service

template <>
inline constexpr auto comptroller::enum_texts<comptroller::service::RequestSource> =
    std::to_array<std::string_view>(
        {"parameters", "path_id", "body", "id_and_body", "id_in_both", "either"});
