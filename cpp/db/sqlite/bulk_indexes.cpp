// Fills an empty table by writing its b-trees if there is a target for them. Otherwise the indexes
// are built after the table is filled, which is faster than updating them row by row.
#include <memory>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/table_filler.hpp"

namespace comptroller::db::sqlite {

namespace {

std::string cache_size(SqliteConnection& connection) {
  Query query = connection.query("PRAGMA cache_size");
  query.step();
  return std::to_string(query.column(0).integer);
}

}  // namespace

std::vector<Insertion> SqliteConnection::insert_new(const InsertStatement& statement,
                                                    std::size_t rows, const BindRow& bind) {
  if (filler_ && filler_->fills(statement.table)) return filler_->insert(statement, rows, bind);
  return Connection::insert_new(statement, rows, bind);
}

void SqliteConnection::begin_filling(std::string_view table) {
  if (fill_target_ != nullptr) filler_ = fill_target_->start(*this, table);
  if (filler_) return;
  if (query("SELECT 1 FROM " + std::string(table) + " LIMIT 1").step()) return;
  std::string drops;
  {
    // Indexes without SQL belong to UNIQUE constraints of the table, by which records are found.
    Query indexes = query(
        "SELECT group_concat('DROP INDEX ' || name, ';'), group_concat(sql, ';') FROM sqlite_schema"
        " WHERE type = 'index' AND tbl_name = $table AND sql IS NOT NULL");
    indexes.bind("$table", Value::of(table)).step();
    drops = indexes.column(0).bytes;
    dropped_indexes_.append(indexes.column(1).bytes).append(";");
  }
  execute(drops);
}

void SqliteConnection::end_filling() {
  if (filler_) return fill_target_->finish(*this, std::move(filler_));
  if (dropped_indexes_.empty()) return;
  // A small sorter often hands its rows to another thread. A sorter as large as the cache would
  // sort at the end, on one thread.
  const std::string cache = "PRAGMA cache_size = " + cache_size(*this);
  const auto restore = [&](SqliteConnection* connection) {
    sqlite3_exec(connection->handle(), cache.c_str(), nullptr, nullptr, nullptr);
  };
  const std::unique_ptr<SqliteConnection, decltype(restore)> restored(this, restore);
  execute("PRAGMA cache_size = -8192");
  execute(dropped_indexes_);
  dropped_indexes_.clear();
}

}  // namespace comptroller::db::sqlite
