// The operations by name (specification 4).
#pragma once

#include <span>

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
// Gives the answer of a read.
using Read = std::string(Service&, const Principal&, const Operation&, const Call&);
using IsShortPage = bool(const Principal&, std::span<const Parameter>);
using Prepare = PreparedWrite(const Operation&, const Principal&, const Call&);

struct Operation {
  std::string_view name;
  std::string_view scope;  // that a client needs; the operator's follow from is_write
  bool is_write;
  // Whether a call costs the same in a store of any size. The cost of a list depends on its
  // filters (model/filters.hpp).
  bool is_bounded;
  RequestSource request_source;
  std::string_view doc;
  std::string_view request;              // the type name of its request
  std::string_view answer;               // the type name of its answer, or of the items of a page
  Read* read = nullptr;                  // of a read
  Prepare* prepare = nullptr;            // of a write
  IsShortPage* is_short_page = nullptr;  // of a list

  using fields =
      Fields<Field<&Operation::name>, Field<&Operation::scope>, Field<&Operation::is_write>,
             Field<&Operation::is_bounded>, Field<&Operation::request_source>,
             Field<&Operation::request>, Field<&Operation::answer>, Field<&Operation::doc>>;
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
