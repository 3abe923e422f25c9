// The operations by name (specification 4).
#pragma once

#include <span>
#include <vector>

#include "model/error.hpp"
#include "service/service.hpp"

namespace comptroller::service {

// Where the fields of a request come from.
enum class RequestSource : std::uint8_t {
  parameters,   // all from parameters
  path_id,      // from parameters, with `id` in the path: a malformed id is not found
  body,         // all from the body
  id_and_body,  // `id` from the path, the rest from the body
  id_in_both,   // the same, but the body may repeat the id, which must agree
  either,       // from parameters or the body, which must agree
};

// An operation without a body only reads.
constexpr bool has_body(RequestSource source) {
  return source != RequestSource::parameters && source != RequestSource::path_id;
}

struct Operation;
// Gives the answer of a read, from a snapshot.
using Read = std::string(Service&, const Principal&, const Operation&, const Call&,
                         db::Connection&);
using IsShortPage = bool(const Principal&, std::span<const Parameter>);
using Prepare = PreparedWrite(const Operation&, const Principal&, const Call&);

// A code that an operation refuses with, and when. Any operation may also be refused for a member
// that is not valid or a scope that is missing.
struct ErrorCase {
  Code code;
  std::string_view when;

  using fields = Fields<Field<&ErrorCase::code>, Field<&ErrorCase::when>>;
};

struct Operation {
  std::string_view name;
  std::string_view scope;  // that a client needs; the operator's follow from is_write
  std::string_view method = {};
  std::vector<std::string_view> paths = {};  // the first is the one that is documented
  std::string_view summary = {};             // one sentence
  std::string_view details = {};             // more sentences, or none
  std::vector<ErrorCase> errors = {};
  std::string_view envelope = {};       // the member that holds the record in an answer over HTTP
  std::string_view body_envelope = {};  // the member that may hold the request in a body

  // The rest follows from the handler.
  bool is_write = false;
  // Whether a call costs the same in a store of any size. The cost of a list depends on its
  // filters (model/filters.hpp).
  bool is_bounded = false;
  bool is_list = false;
  RequestSource request_source{};
  std::string_view request = {};         // the type name of its request
  std::string_view answer = {};          // the type name of its answer, or of the items of a page
  Read* read = nullptr;                  // of a read
  Prepare* prepare = nullptr;            // of a write
  IsShortPage* is_short_page = nullptr;  // of a list

  using fields = Fields<
      Field<&Operation::name>, Field<&Operation::scope>, Field<&Operation::method>,
      Field<&Operation::paths>, Field<&Operation::summary>, Field<&Operation::details>,
      Field<&Operation::errors>, Field<&Operation::envelope>, Field<&Operation::body_envelope>,
      Field<&Operation::is_write>, Field<&Operation::is_bounded>, Field<&Operation::is_list>,
      Field<&Operation::request_source>, Field<&Operation::request>, Field<&Operation::answer>>;
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);

// Throws insufficient_scope if the principal may not call the operation.
void require_operation_scope(const Principal& principal, const Operation& operation);

// Whether a read takes less than a millisecond in a store of any size; also if it is refused.
bool is_short(const Principal& principal, std::string_view operation,
              std::span<const Parameter> parameters);

}  // namespace comptroller::service

template <>
inline constexpr auto comptroller::words_of<comptroller::service::RequestSource> =
    std::to_array<std::string_view>(
        {"parameters", "path_id", "body", "id_and_body", "id_in_both", "either"});
