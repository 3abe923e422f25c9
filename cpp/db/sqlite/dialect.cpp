#include "db/dialect.hpp"

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr Dialect sqlite_dialect{
    // SQLite passes each row through half of the streams, so more streams are merged in C++.
    .max_joined_streams = 16,
    .length_of_keys = "length(keys)",
    .has_hash = "(tx_hash = ? OR typeof(tx_hash) = 'text' AND lower(tx_hash) = ?)",
    .has_address =
        "CASE typeof(addresses) WHEN 'text' THEN EXISTS"
        " (SELECT 1 FROM json_each(addresses) WHERE value = ?) END",
    // `instr` rules out most rows at once. It may find the bytes where no address begins.
    .has_evm_address =
        "CASE WHEN typeof(addresses) = 'blob' AND instr(addresses, ?) THEN EXISTS"
        " (WITH RECURSIVE place(n) AS (SELECT 1 UNION ALL SELECT n + 20 FROM place"
        " WHERE n + 20 < length(addresses))"
        " SELECT 1 FROM place WHERE substr(addresses, n, 20) = ?)"
        " WHEN typeof(addresses) = 'text' AND instr(lower(addresses), ?) THEN EXISTS"
        " (SELECT 1 FROM json_each(addresses) WHERE lower(value) = ?) END",
};

}  // namespace

const Dialect& SqliteConnection::dialect() const {
  return sqlite_dialect;
}

}  // namespace comptroller::db::sqlite
