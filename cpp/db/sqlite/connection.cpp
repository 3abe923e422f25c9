#include "db/sqlite/connection.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

SqliteConnection::SqliteConnection(const std::string& path, int flags, const char* vfs)
    : Handle(path, flags, vfs), pages_(*this) {}

void SqliteConnection::begin_snapshot() {
  if (in_transaction()) roll_back();  // of a snapshot whose end failed
  if (!has_log()) read_now();
  pages_.before_begin();
  query("BEGIN").run();
  read_now();
  is_in_snapshot_ = true;
}

void SqliteConnection::forget_snapshot() noexcept {
  is_in_snapshot_ = false;
  pages_.end();
}

void SqliteConnection::end_snapshot() noexcept {
  forget_snapshot();
  // A COMMIT that succeeded must not be reported as interrupted.
  const Interrupt* const before = interrupt();
  set_interrupt(nullptr);
  try {
    query("COMMIT").run();
  } catch (const std::exception&) {  // the transaction only read
    roll_back();
  }
  set_interrupt(before);
}

void SqliteConnection::roll_back() noexcept {
  forget_snapshot();
  if (in_transaction()) sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

std::int64_t SqliteConnection::read_number(std::string_view sql) {
  Query row = query(sql);
  return row.step() ? row.column(0).integer : 0;
}

// A restore (sqlite3_backup, VACUUM INTO and the like are ordinary transactions) always changes the
// schema's version in the file.
void SqliteConnection::read_now() {
  const std::int64_t content = read_number("PRAGMA schema_version");
  if (content == content_) return;
  symbols().forget();
  if (check_content_) check_content_(*this);
  content_ = content;
}

void SqliteConnection::renew_writing_state() noexcept {
  static std::atomic<std::uint64_t> last{0};  // of all connections
  writing_state_ = ++last;
}

std::optional<sqlite_format::LastCommit> SqliteConnection::begin_present_snapshot() {
  begin_snapshot();
  return pages_.present_commit();
}

// SQLite prefers another index, or the whole table, after an ANALYZE that ran while the table was
// small.
std::string_view SqliteConnection::index_hint(std::string_view table, std::string_view columns,
                                              std::string_view condition) {
  const std::int64_t schema = is_in_snapshot_ ? content() : read_number("PRAGMA schema_version");
  if (std::exchange(schema_of_index_hints_, schema) != schema) index_hints_.clear();
  const auto found = std::ranges::find_if(index_hints_, [&](const IndexHint& each) {
    return each.columns == columns && each.table == table && each.condition == condition;
  });
  if (found != index_hints_.end()) return found->hint;
  std::string definition = "(" + std::string(columns) + ")";
  if (!condition.empty()) definition.append(" WHERE ").append(condition);
  std::string hint;
  Query index = query(
      // The index of a UNIQUE constraint has no SQL.
      "WITH known AS (SELECT name, coalesce(replace(replace(sql, char(10), ''), ' ', ''),"
      " (SELECT '(' || group_concat(name) || ')' FROM pragma_index_info(each.name))) AS text"
      " FROM sqlite_schema AS each WHERE type = 'index' AND tbl_name = ?1) SELECT name FROM known"
      " WHERE substr(text, instr(text, '(')) = replace(?2, ' ', '')");
  if (index.bind(1, table).bind(2, definition).step()) {
    hint.append(" INDEXED BY ").append(index.column(0).bytes);
  }
  // Complete, so that a failure leaves no partial hint behind.
  index_hints_.push_back({std::string(table), std::string(columns), std::string(condition), hint});
  return index_hints_.back().hint;
}

std::vector<Insertion> SqliteConnection::insert_new(const InsertStatement& statement,
                                                    std::size_t rows, const BindRow& bind,
                                                    std::vector<std::int64_t>& keys) {
  if (filler_ != nullptr && filler_->table() == statement.table) {
    return filler_->insert(statement, rows, bind);
  }
  return Connection::insert_new(statement, rows, bind, keys);
}

}  // namespace comptroller::db::sqlite
