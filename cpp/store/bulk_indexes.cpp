#include "store/bulk_indexes.hpp"

#include "store/operator_indexes.hpp"

namespace comptroller::store {

namespace {

std::string cache_size(db::Connection& connection) {
  db::Query query = connection.query("PRAGMA cache_size");
  query.step();
  return std::to_string(query.column(0).integer);
}

}  // namespace

BulkIndexes::BulkIndexes(db::Connection& connection, std::string_view table)
    : connection_(connection) {
  if (table != "claims" && table != "orchestrations") return;
  if (connection.query("SELECT 1 FROM " + std::string(table) + " LIMIT 1").step()) return;
  std::vector<std::string> names;
  {
    // Those without SQL belong to a UNIQUE of the table itself, by which records are found.
    db::Query query = connection.query(
        "SELECT name, sql FROM sqlite_schema"
        " WHERE type = 'index' AND tbl_name = $table AND sql IS NOT NULL");
    query.bind("$table", db::Value::of(table));
    while (query.step()) {
      names.emplace_back(query.column(0).bytes);
      dropped_.emplace_back(query.column(1).bytes);
    }
  }
  for (const std::string& name : names) connection.execute("DROP INDEX " + name);
  defer_operator_indexes(connection);
}

void BulkIndexes::rebuild() {
  if (!dropped_.empty()) {
    // A sorter that fills up often hands what it has to another thread; one as large as the cache
    // would sort at the end, alone.
    const std::string cache = cache_size(connection_);
    connection_.execute("PRAGMA cache_size = -8192");
    for (const std::string& sql : dropped_) connection_.execute(sql);
    connection_.execute("PRAGMA cache_size = " + cache);
    resume_operator_indexes(connection_);
  }
  make_operator_indexes(connection_);
}

}  // namespace comptroller::store
