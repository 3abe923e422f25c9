// An operation of the service (specification 4).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "model/fields.hpp"
#include "service/call.hpp"

namespace comptroller::service {

// The sources of the members of a request.
#define COMPTROLLER_REQUEST_SOURCES(ROW)                                                     \
  ROW(parameters)  /* all from parameters */                                                 \
  ROW(path_id)     /* from parameters, with `id` in the path: a malformed id is not found */ \
  ROW(body)        /* all from the body */                                                   \
  ROW(id_and_body) /* `id` from the path, other members from the body */                     \
  ROW(id_in_both)  /* the same, but the body may also have the id, which must be equal */    \
  ROW(either)      /* from parameters or the body; values in both must be equal */
enum class RequestSource : std::uint8_t { COMPTROLLER_REQUEST_SOURCES(COMPTROLLER_ENUMERATOR) };

// An operation without a body is a read.
constexpr bool has_body(RequestSource source) {
  return source != RequestSource::parameters && source != RequestSource::path_id;
}

struct TypeDescriptions;

using Prepare = PreparedCall(const Operation&, const Principal&, const Call&);
using DescribeTypes = void(TypeDescriptions&);

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
  FIELD(std::string_view, scope);  // required of a client
  FIELD(std::string_view, method);
  FIELD(std::vector<std::string>, paths);  // the documentation shows the first
  FIELD(std::string_view, summary);        // one sentence
  FIELD(std::string, details);             // more sentences, may be empty
  FIELD(std::vector<ErrorCase>, errors);
  FIELD(std::string_view, envelope);  // the member that holds the record in an answer over HTTP
  FIELD(std::string_view, body_envelope);  // the member that may hold the request in a body

  // The members below are derived from the handler.
  FIELD(bool, is_write);
  FIELD(bool, needs_write_scope);  // a write, or a read that shows a secret
  FIELD(bool, is_list);
  FIELD(RequestSource, request_source);
  FIELD(std::string_view, request);     // the type name of its request
  FIELD(std::string_view, answer);      // the type name of its answer, or of the items of a page
  std::function<Prepare> prepare = {};  // reads the request of a call
  DescribeTypes* describe_types = nullptr;  // of its request and answer
  bool reads_journal = false;
};

// Adds to an operation what follows from its scope, its list or the id in its path.
// `names_customer`: the request may name the customer.
void add_implied(Operation& operation, bool names_customer);

}  // namespace comptroller::service

template <>
inline constexpr auto comptroller::enum_texts<comptroller::service::RequestSource> =
    std::to_array<std::string_view>({
#define TEXT(name) #name,
        COMPTROLLER_REQUEST_SOURCES(TEXT)
#undef TEXT
    });
