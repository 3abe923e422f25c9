#include "store/client_lookups.hpp"

namespace comptroller::store {

// Both read the last row up to the name, which exists, and compare it here. The cache of symbols
// would distinguish stored texts from others.

namespace {

constexpr const char* last_symbol =
    "SELECT key, text FROM symbols WHERE text <= ? ORDER BY text DESC LIMIT 1";

}  // namespace

void expect_symbols(db::Connection& connection, std::span<const std::string_view> texts) {
  connection.read_ahead(last_symbol, texts.size(),
                        [&](std::size_t run) { return std::vector{Value::of(texts[run])}; });
}

std::optional<std::int64_t> find_symbol_evenly(db::Connection& connection, std::string_view text) {
  db::Query query = connection.query(last_symbol);
  if (!query.bind(1, text).step() || query.column(1).bytes != text) return std::nullopt;
  return query.number(0);
}

std::optional<std::int64_t> find_own_key(db::Connection& connection, std::string_view table,
                                         const Value& id, const Value& customer) {
  db::Query row = connection.query(select_own_key(connection, table));
  if (!row.bind(1, id).step() || !is_own(row, 1, id, customer)) return std::nullopt;
  return row.number(0);
}

std::string select_own_key(db::Connection& connection, std::string_view table) {
  return select_last_up_to_id(connection, "key, id, customer_id", table);
}

std::string select_last_up_to_id(db::Connection& connection, std::string_view columns,
                                 std::string_view table) {
  std::string sql = "SELECT ";
  sql.append(columns).append(" FROM ").append(table);
  sql.append(connection.index_hint(table, "id", ""));
  return sql.append(" WHERE id <= ? ORDER BY id DESC LIMIT 1");
}

}  // namespace comptroller::store
