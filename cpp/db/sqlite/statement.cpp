#include "db/sqlite/statement.hpp"

#include <array>
#include <cstring>

#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// A prepared statement takes some 30 times the bytes of its text.
constexpr std::size_t most_sql_bytes = std::size_t{256} * 1024;
constexpr std::size_t large_sql_bytes = most_sql_bytes / 16;
std::size_t size_of(sqlite3_value* value) {
  return static_cast<std::size_t>(sqlite3_value_bytes(value));
}

}  // namespace

SqliteStatement::SqliteStatement(SqliteConnection& connection, std::string_view sql)
    : connection_(connection) {
  sqlite3_stmt* statement = nullptr;
  connection.check(sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
  statement_.reset(statement);
}

void SqliteStatement::bind(int index, const Value& value) {
  const auto size = static_cast<sqlite3_uint64>(value.bytes.size());
  // A null pointer would bind NULL, not an empty text.
  const char* bytes = value.bytes.data() == nullptr ? "" : value.bytes.data();
  int result = SQLITE_OK;
  switch (value.kind) {
    case Value::Kind::null:
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
  bind(index_of(name), value);
}

// SQLite searches its names from the first; most callers bind them in the order of the text.
int SqliteStatement::index_of(std::string_view name) {
  if (names_.empty()) {
    const int count = sqlite3_bind_parameter_count(statement_.get());
    for (int index = 1; index <= count; ++index) {
      const char* known = sqlite3_bind_parameter_name(statement_.get(), index);
      names_.emplace_back(known == nullptr ? "" : known);
    }
  }
  for (std::size_t tried = 0; tried < names_.size(); ++tried) {
    if (next_name_ >= names_.size()) next_name_ = 0;
    if (names_[next_name_++] == name) return static_cast<int>(next_name_);
  }
  throw Error(Code::internal, "no parameter " + std::string(name));
}

bool SqliteStatement::step() {
  const int result = sqlite3_step(statement_.get());
  if (result == SQLITE_ROW) return true;
  if (result == SQLITE_DONE) return false;
  connection_.fail(result);
}

std::int64_t SqliteStatement::run() {
  while (step()) {
  }
  sqlite3_reset(statement_.get());
  return sqlite3_changes64(connection_.handle());
}

// A RETURNING clause would collect the rows in a temporary table, which costs more than the INSERT.
std::optional<std::int64_t> SqliteStatement::insert() {
  if (run() == 0) return std::nullopt;
  return sqlite3_last_insert_rowid(connection_.handle());
}

Value SqliteStatement::column(int index) {
  sqlite3_value* value = sqlite3_column_value(statement_.get(), index);
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
    default:
      return Value::null();
  }
}

void SqliteStatement::reset() {
  // The result repeats the failure of the last step, which was thrown there.
  sqlite3_reset(statement_.get());
  sqlite3_clear_bindings(statement_.get());
  next_name_ = 0;
  is_in_use_ = false;
}

// Reads the whole text, in four independent lanes: a chain of multiplications would cost as much as
// binding a row.
std::size_t StatementCache::Hash::operator()(std::string_view sql) const {
  constexpr std::uint64_t prime = 0x9E3779B97F4A7C15U;
  std::array<std::uint64_t, 4> lanes{sql.size(), 1, 2, 3};
  std::array<std::uint64_t, 4> words{};
  for (; sql.size() >= sizeof words; sql.remove_prefix(sizeof words)) {
    std::memcpy(words.data(), sql.data(), sizeof words);
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
      lanes[lane] = (lanes[lane] ^ words[lane]) * prime;
      lanes[lane] ^= lanes[lane] >> 32U;
    }
  }
  words = {};
  if (!sql.empty()) std::memcpy(words.data(), sql.data(), sql.size());
  std::uint64_t hash = 0;
  for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
    hash = (hash ^ lanes[lane] ^ words[lane]) * prime;
    hash ^= hash >> 32U;
  }
  return static_cast<std::size_t>(hash);
}

bool StatementCache::Entry::is_large() const {
  return sql.size() >= large_sql_bytes;
}

SqliteStatement& StatementCache::take(SqliteConnection& connection, std::string_view sql) {
  const auto known = by_text_.equal_range(sql);
  for (auto place = known.first; place != known.second; ++place) {
    const Entries::iterator entry = place->second;
    if (entry->statement.is_in_use()) continue;
    if (!entry->is_large()) entries_.splice(entries_.begin(), entries_, entry);
    entry->statement.use();
    return entry->statement;
  }
  const bool is_large = sql.size() >= large_sql_bytes;
  make_room(is_large);
  const auto entry = entries_.insert(is_large ? entries_.end() : entries_.begin(),
                                     Entry{std::string(sql), SqliteStatement(connection, sql)});
  try {
    by_text_.emplace(entry->sql, entry);
  } catch (...) {
    entries_.erase(entry);
    throw;
  }
  if (!is_large) sql_bytes_ += sql.size();
  entry->statement.use();
  return entry->statement;
}

void StatementCache::make_room(bool for_large) {
  for (auto place = entries_.end(); place != entries_.begin();) {
    const auto entry = std::prev(place);
    const bool is_full = entries_.size() >= most_statements || sql_bytes_ > most_sql_bytes;
    if (!is_full && !(for_large && entry->is_large())) return;
    if (entry->statement.is_in_use()) {
      place = entry;
    } else {
      erase(entry);
    }
  }
}

void StatementCache::erase(Entries::iterator entry) {
  auto known = by_text_.equal_range(entry->sql);
  while (known.first->second != entry) ++known.first;
  by_text_.erase(known.first);
  if (!entry->is_large()) sql_bytes_ -= entry->sql.size();
  entries_.erase(entry);
}

}  // namespace comptroller::db::sqlite
