#include "db/dialect.hpp"

#include "db/postgresql/connection.hpp"

namespace comptroller::db::postgresql {

namespace {

// The first byte of a bytea tells a blob (0) from a text (1); see values.hpp.
constexpr Dialect postgresql_dialect{
    .is_remote = true,
    .has_ordered_branches = true,
    .max_joined_streams = 64,
    .has_pending_entries = true,
    .equals_truth = " = (SELECT ?::boolean)",
    .end_of_exists = " LIMIT 1 OFFSET 0",
    .end_of_index = ", key",
    .length_of_keys = "(length(keys) - 1)",
    .has_hash =
        "(tx_hash = ? OR CASE get_byte(tx_hash, 0) WHEN 1"
        " THEN lower(convert_from(substr(tx_hash, 2), 'UTF8') COLLATE \"C\") = ? END)",
    .has_address =
        "CASE get_byte(addresses, 0) WHEN 1 THEN EXISTS (SELECT 1 FROM json_array_elements_text"
        "(convert_from(substr(addresses, 2), 'UTF8')::json) AS each (value) WHERE value = ?) END",
    // `position` rules out most rows at once. It may find the bytes where no address begins.
    .has_evm_address =
        "CASE get_byte(addresses, 0) WHEN 0 THEN position(substr(?::bytea, 2) IN addresses) > 0"
        " AND EXISTS (SELECT 1 FROM generate_series(2, length(addresses) - 19, 20) AS n"
        " WHERE substr(addresses, n, 20) = substr(?::bytea, 2))"
        " WHEN 1 THEN strpos(lower(convert_from(substr(addresses, 2), 'UTF8') COLLATE \"C\"), ?) > "
        "0"
        " AND EXISTS (SELECT 1 FROM json_array_elements_text"
        "(convert_from(substr(addresses, 2), 'UTF8')::json) AS each (value)"
        " WHERE lower(value COLLATE \"C\") = ?) END",
};

}  // namespace

const Dialect& PostgresqlConnection::dialect() const {
  return postgresql_dialect;
}

}  // namespace comptroller::db::postgresql
