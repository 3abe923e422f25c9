#include "db/sqlite/fill.hpp"

#include <utility>

namespace comptroller::db::sqlite {

std::unique_ptr<PrivateCopy> SqliteFill::make_copy() {
  if (is_only_sql_) return nullptr;
  auto copy = PrivateCopy::make(parts_.connection, filling_);
  if (copy) copy->connection().set_interrupt(&parts_.interrupt);
  return copy;
}

Connection* SqliteFill::begin() {
  if (is_only_sql_) return nullptr;
  Writing::refuse(&parts_.writer);
  writing_.emplace(&parts_.writer, true);
  parts_.writer.run_alone(filling_.is_patient, [&] { copy_ = make_copy(); });
  if (!copy_) {
    writing_.reset();
    return nullptr;
  }
  copy_->connection().symbols().leave_gap(filling_.symbols_of_others);
  return &copy_->connection();
}

bool SqliteFill::write(const Work& work) {
  const bool has_begun = copy_ != nullptr;
  if (!has_begun) Writing::refuse(&parts_.writer);
  const Writing writing(&parts_.writer, true);
  bool is_possible = true;
  parts_.writer.run_alone(filling_.is_patient || has_begun, [&] {
    if (has_begun && !copy_->is_current()) {
      const std::unique_ptr<PrivateCopy> before = std::exchange(copy_, make_copy());
      is_possible = copy_ && copy_->take_rows(*before);
      if (is_possible) write_in_copy(work, &before->connection());
      return;
    }
    if (!has_begun) copy_ = make_copy();
    if (copy_) return write_in_copy(work, nullptr);
    parts_.writer.run_bulk([&] {
      drop_indexes();
      const bool keeps = work(parts_.connection, nullptr);
      if (keeps) finish();
      return keeps;
    });
  });
  return is_possible;
}

void SqliteFill::write_in_copy(const Work& work, Connection* before) {
  if (!work(copy_->connection(), before)) return;
  finish();
  parts_.writer.note_frames(copy_->adopt(parts_.connection, parts_.file));
}

void SqliteFill::finish() {
  if (copy_) return copy_->finish();
  make_indexes();
}

// The secondary indexes of an empty table are made after it is filled, which is faster than to
// update them row by row. Those without SQL belong to UNIQUE constraints, by which records are
// found.
void SqliteFill::drop_indexes() {
  SqliteConnection& connection = parts_.connection;
  if (filling_.table.empty() || connection.has_rows(filling_.table)) return;
  std::string drops;
  {
    Query indexes = connection.query(
        "SELECT group_concat('DROP INDEX ' || name, ';'), group_concat(sql, ';') FROM sqlite_schema"
        " WHERE type = 'index' AND tbl_name = $table AND sql IS NOT NULL");
    indexes.bind("$table", filling_.table).step();
    drops = indexes.column(0).bytes;
    dropped_indexes_ = indexes.column(1).bytes;
  }
  connection.execute(drops);
}

void SqliteFill::make_indexes() {
  if (dropped_indexes_.empty()) return;
  SqliteConnection& connection = parts_.connection;
  // A small sorter often hands its rows to another thread. A sorter as large as the cache would
  // sort at the end, on one thread.
  const std::string cache =
      "PRAGMA cache_size = " + std::to_string(connection.read_number("PRAGMA cache_size"));
  const auto restore = [&](SqliteConnection* changed) {
    sqlite3_exec(changed->handle(), cache.c_str(), nullptr, nullptr, nullptr);
  };
  const std::unique_ptr<SqliteConnection, decltype(restore)> restored(&connection, restore);
  connection.execute("PRAGMA cache_size = -8192");
  connection.execute(std::exchange(dropped_indexes_, {}));
}

}  // namespace comptroller::db::sqlite
