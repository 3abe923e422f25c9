#include "db/sqlite/statement.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// A prepared statement takes about 30 times the bytes of its text.
constexpr std::size_t max_sql_bytes = std::size_t{256} * 1024;
constexpr std::size_t large_sql_bytes = max_sql_bytes / 16;

bool is_large(const auto& entry) {
  return entry.first.size() >= large_sql_bytes;
}

bool is_idle(const std::pair<const std::string, SqliteStatement>& entry) {
  return !entry.second.is_in_use();
}

std::size_t size_of(sqlite3_value* value) {
  return static_cast<std::size_t>(sqlite3_value_bytes(value));
}

Value value_of(sqlite3_value* value) {
  switch (sqlite3_value_type(value)) {
    case SQLITE_INTEGER:
      return Value::of(sqlite3_value_int64(value));
    case SQLITE_TEXT: {
      const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
      return Value::of(std::string_view(text, size_of(value)));
    }
    case SQLITE_BLOB: {
      const auto* bytes = static_cast<const char*>(sqlite3_value_blob(value));
      return Value::blob(std::string_view(bytes, size_of(value)));
    }
    case SQLITE_FLOAT:
      return Value::real();
    default:
      return Value::null();
  }
}

}  // namespace

SqliteStatement::SqliteStatement(Handle& connection, std::string_view sql)
    : connection_(connection) {
  sqlite3_stmt* statement = nullptr;
  connection.check(sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statement_.reset(statement);
  values_.resize(static_cast<std::size_t>(sqlite3_column_count(statement)));
}

void SqliteStatement::bind(int index, const Value& value) {
  if (std::exchange(has_stepped_, false)) sqlite3_reset(statement_.get());
  const auto size = static_cast<sqlite3_uint64>(value.bytes.size());
  // A null pointer would bind NULL instead of an empty text.
  const char* bytes = value.bytes.data() == nullptr ? "" : value.bytes.data();
  int result = SQLITE_OK;
  switch (value.kind) {
    case Value::Kind::null:
    case Value::Kind::real:
      result = sqlite3_bind_null(statement_.get(), index);
      break;
    case Value::Kind::integer:
      result = sqlite3_bind_int64(statement_.get(), index, value.integer);
      break;
    case Value::Kind::text:
      result =
          sqlite3_bind_text64(statement_.get(), index, bytes, size, SQLITE_STATIC, SQLITE_UTF8);
      break;
    case Value::Kind::blob:
      result = sqlite3_bind_blob64(statement_.get(), index, bytes, size, SQLITE_STATIC);
      break;
  }
  connection_.check(result);
}

void SqliteStatement::bind(std::string_view name, const Value& value) {
  const int index = sqlite3_bind_parameter_index(statement_.get(), std::string(name).c_str());
  if (index == 0) throw Error(Code::internal, "no parameter " + std::string(name));
  bind(index, value);
}

bool SqliteStatement::step() {
  has_stepped_ = true;
  const int result = sqlite3_step(statement_.get());
  connection_.check_state();
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  connection_.fail(result);
}

std::int64_t SqliteStatement::run() {
  while (step()) {
  }
  const std::int64_t changes = sqlite3_changes64(connection_.handle());
  sqlite3_reset(statement_.get());
  has_stepped_ = false;
  return changes;
}

// Does not use RETURNING, which collects the rows in a temporary table and costs more than the
// INSERT.
std::optional<std::int64_t> SqliteStatement::insert() {
  if (run() == 0) return std::nullopt;
  return sqlite3_last_insert_rowid(connection_.handle());
}

const Value& SqliteStatement::column_of_row(int index) {
  Value& value = values_.at(static_cast<std::size_t>(index));
  return value = value_of(sqlite3_column_value(statement_.get(), index));
}

std::string SqliteStatement::place_of(int index, std::size_t) {
  std::string place(table_of(sqlite3_sql(statement_.get())));
  place.append(".").append(sqlite3_column_name(statement_.get(), index));
  for (int column = 0; column < sqlite3_column_count(statement_.get()); ++column) {
    if (sqlite3_column_name(statement_.get(), column) != std::string_view("key")) continue;
    place += " of key " + std::to_string(sqlite3_column_int64(statement_.get(), column));
    break;
  }
  return place;
}

void SqliteStatement::reset() {
  // The result repeats the failure of the last step, which has already been thrown.
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  has_stepped_ = false;
  Statement::reset();
}

SqliteStatement& StatementCache::take(Handle& connection, std::string_view sql) {
  const auto [first, last] = statements_.equal_range(sql);
  auto idle = std::find_if(first, last, is_idle);
  if (idle == last) {
    make_room(sql.size());
    idle = statements_.emplace(std::string(sql), SqliteStatement(connection, sql));
  }
  idle->second.use(++uses_);
  return idle->second;
}

void StatementCache::make_room(std::size_t bytes) {
  if (bytes >= large_sql_bytes) {
    std::erase_if(statements_, [](const auto& entry) { return is_large(entry) && is_idle(entry); });
  }
  const auto is_full = [this] {
    std::size_t sql_bytes = 0;
    for (const auto& entry : statements_) sql_bytes += is_large(entry) ? 0 : entry.first.size();
    return statements_.size() >= max_statements || sql_bytes > max_sql_bytes;
  };
  const auto rank = [](const auto& entry) {
    return std::tuple(!is_idle(entry), !is_large(entry), entry.second.last_use());
  };
  while (is_full()) {
    const auto first = std::ranges::min_element(statements_, {}, rank);
    if (!is_idle(*first)) return;
    statements_.erase(first);
  }
}

}  // namespace comptroller::db::sqlite
