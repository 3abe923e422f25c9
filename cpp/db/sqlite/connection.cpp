#include "db/sqlite/connection.hpp"

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t most_statements = 256;
constexpr std::size_t most_sql_bytes = std::size_t{256} * 1024;  // prepared, some 30 times as much

const char* reason(int result) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return "the disk is full; free some space and try again";
    case SQLITE_IOERR:
      return "the disk reported an I/O error";
    case SQLITE_NOMEM:
      return "out of memory";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "the store cannot be written; check the permissions of its file and folder";
    case SQLITE_CANTOPEN:
      return "the store cannot be opened; check that its folder exists and may be written";
    case SQLITE_CORRUPT:
      return "the store is damaged; restore a backup";
    case SQLITE_NOTADB:
      return "the file is not a comptroller store";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds the store; try again";
    case SQLITE_INTERRUPT:
      return "interrupted";
    default:
      return nullptr;
  }
}

}  // namespace

void throw_failure(int result) {
  if (const char* text = reason(result)) throw Error(Code::unavailable, text);
  throw Error(Code::internal, "the store failed with SQLite result " + std::to_string(result));
}

class SqliteConnection::SqliteStatement final : public Statement {
 public:
  SqliteStatement(sqlite3* connection, std::string_view sql) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v3(connection, sql.data(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &statement, nullptr));
    statement_.reset(statement);
  }

  void bind(int index, const Value& value) override {
    const auto size = static_cast<sqlite3_uint64>(value.bytes.size());
    // A null pointer would bind NULL, not an empty text.
    const char* bytes = value.bytes.data() == nullptr ? "" : value.bytes.data();
    switch (value.kind) {
      case Value::Kind::null:
        return check(sqlite3_bind_null(statement_.get(), index));
      case Value::Kind::integer:
        return check(sqlite3_bind_int64(statement_.get(), index, value.integer));
      case Value::Kind::text:
        return check(
            sqlite3_bind_text64(statement_.get(), index, bytes, size, SQLITE_STATIC, SQLITE_UTF8));
      case Value::Kind::blob:
        return check(sqlite3_bind_blob64(statement_.get(), index, bytes, size, SQLITE_STATIC));
    }
  }

  void bind(std::string_view name, const Value& value) override {
    const int index = sqlite3_bind_parameter_index(statement_.get(), std::string(name).c_str());
    if (index == 0) throw Error(Code::internal, "no parameter " + std::string(name));
    bind(index, value);
  }

  bool step() override {
    const int result = sqlite3_step(statement_.get());
    if (result == SQLITE_ROW) return true;
    if (result == SQLITE_DONE) return false;
    throw_failure(result);
  }

  std::int64_t run() override {
    while (step()) {
    }
    return sqlite3_changes64(sqlite3_db_handle(statement_.get()));
  }

  Value column(int index) override {
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

  void reset() override {
    // The result repeats the failure of the last step, which was thrown there.
    sqlite3_reset(statement_.get());
    sqlite3_clear_bindings(statement_.get());
    in_use = false;
  }

  bool in_use = false;

 private:
  static std::size_t size_of(sqlite3_value* value) {
    return static_cast<std::size_t>(sqlite3_value_bytes(value));
  }

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

SqliteConnection::SqliteConnection(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  check(result);
  check(sqlite3_busy_timeout(handle, busy_timeout_ms));
  check(sqlite3_extended_result_codes(handle, 1));
}

SqliteConnection::~SqliteConnection() = default;

Query SqliteConnection::query(std::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    if (statements_.size() >= most_statements || sql_bytes_ + sql.size() > most_sql_bytes) {
      drop_idle_statements();
    }
    found =
        statements_.emplace(std::string(sql), std::make_unique<SqliteStatement>(handle_.get(), sql))
            .first;
    sql_bytes_ += sql.size();
  }
  if (found->second->in_use) throw Error(Code::internal, "a statement is in use twice");
  found->second->in_use = true;
  return Query(*found->second);
}

void SqliteConnection::drop_idle_statements() {
  std::erase_if(statements_, [this](const auto& entry) {
    if (!entry.second->in_use) sql_bytes_ -= entry.first.size();
    return !entry.second->in_use;
  });
}

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

}  // namespace comptroller::db::sqlite
