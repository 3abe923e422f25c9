// The operations by name (specification 4), and how each comes to its request record.
#pragma once

#include <span>

#include "service/service.hpp"

namespace comptroller::service {

// Where an operation's request comes from.
enum class Shape : std::uint8_t {
  parameters,   // all of it from parameters
  path_id,      // from parameters, of which `id` stands in a path: a malformed one is not found
  body,         // all of it from the body
  id_and_body,  // `id` from the path, the rest from the body
  id_in_both,   // the same; a body may repeat the id, and must agree
  either,       // members from the parameters or the body, which must agree
};

struct Operation;
using Run = Answer(Service&, const Principal&, const Operation&, const Call&);

struct Operation {
  std::string_view name;
  std::string_view scope;  // of a client; the operator's are implied
  bool is_write;
  Shape shape;
  std::string_view doc;
  std::string_view request;  // the record it takes
  std::string_view answer;   // the record it answers, or that its items are
  Run* run;

  using fields =
      Fields<Field<&Operation::name>, Field<&Operation::scope>, Field<&Operation::is_write>,
             Field<&Operation::shape>, Field<&Operation::request>, Field<&Operation::answer>,
             Field<&Operation::doc>>;
};

std::span<const Operation> operations();
const Operation* find_operation(std::string_view name);

// Refuses a principal that may not call this: insufficient_scope.
void require_operation_scope(const Principal& principal, const Operation& operation);

}  // namespace comptroller::service

template <>
inline constexpr auto comptroller::words_of<comptroller::service::Shape> =
    std::to_array<std::string_view>(
        {"parameters", "path_id", "body", "id_and_body", "id_in_both", "either"});
