// Fills an empty table of a private copy by writing its b-trees. Otherwise the indexes are built
// after the table is filled, which is faster than updating them row by row.
#include <memory>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/private_copy.hpp"

namespace comptroller::db::sqlite {

std::vector<Insertion> SqliteConnection::insert_new(const InsertStatement& statement,
                                                    std::size_t rows, const BindRow& bind) {
  if (filler_ && filler_->fills(statement.table)) return filler_->insert(statement, rows, bind);
  return Connection::insert_new(statement, rows, bind);
}

void SqliteConnection::begin_filling(std::string_view table) {
  if (private_copy_ != nullptr) filler_ = private_copy_->start(table);
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

bool SqliteConnection::continue_filling(Connection& prepared) {
  TableFiller* const before = static_cast<SqliteConnection&>(prepared).filler_.get();
  if (private_copy_ == nullptr || before == nullptr) return false;
  filler_ = private_copy_->start(before->table());
  return filler_ && filler_->take_rows(*before);
}

void SqliteConnection::end_filling() {
  if (filler_) return private_copy_->finish(std::move(filler_));
  if (dropped_indexes_.empty()) return;
  // A small sorter often hands its rows to another thread. A sorter as large as the cache would
  // sort at the end, on one thread.
  const std::string cache =
      "PRAGMA cache_size = " + std::to_string(read_number("PRAGMA cache_size"));
  const auto restore = [&](SqliteConnection* connection) {
    sqlite3_exec(connection->handle(), cache.c_str(), nullptr, nullptr, nullptr);
  };
  const std::unique_ptr<SqliteConnection, decltype(restore)> restored(this, restore);
  execute("PRAGMA cache_size = -8192");
  execute(dropped_indexes_);
  dropped_indexes_.clear();
}

}  // namespace comptroller::db::sqlite
