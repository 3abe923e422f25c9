// The records of a table with SQL types in place of the stored values, for reports that PostgreSQL
// computes.
#pragma once

#include <span>
#include <string>

#include "db/readable_view.hpp"

namespace comptroller::db::postgresql {

// Returns a SELECT of columns of a table: times as timestamp without a zone (UTC), amounts as
// numeric, flags as boolean, lists of addresses as text[], anything else as text, which has the
// collation "C". `schema` is the quoted name of the schema that has the tables. Throws
// invalid_request for an unknown column.
std::string typed_select(const ReadableView& table, std::span<const std::string> columns,
                         const std::string& schema);

}  // namespace comptroller::db::postgresql
