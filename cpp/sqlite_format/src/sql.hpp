// Statements that read the schema.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "sqlite_format/sqlite_format.hpp"

namespace sqlite_format {

// Throws Failure with SQLite's result code and message.
class Sql {
 public:
  Sql(sqlite3* connection, std::string_view sql) : connection_(connection) {
    sqlite3_stmt* statement = nullptr;
    check(sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &statement,
                             nullptr));
    statement_.reset(statement);
  }

  // Binds the first parameter. The text must live until the last step.
  Sql& bind(std::string_view text) {
    check(sqlite3_bind_text64(statement_.get(), 1, text.data(), text.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
    return *this;
  }
  bool step() {
    const int result = sqlite3_step(statement_.get());
    if (result != SQLITE_ROW && result != SQLITE_DONE) check(result);
    return result == SQLITE_ROW;
  }
  int columns() const { return sqlite3_column_count(statement_.get()); }
  std::int64_t number(int column) const { return sqlite3_column_int64(statement_.get(), column); }
  bool flag(int column) const { return number(column) != 0; }
  std::string text(int column) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_.get(), column));
    return text == nullptr ? std::string() : std::string(text);
  }
  // Valid until the next step.
  Value value(int column) const {
    sqlite3_value* const value = sqlite3_column_value(statement_.get(), column);
    const auto bytes = [&](const void* begin) {
      return std::string_view(static_cast<const char*>(begin),
                              static_cast<std::size_t>(sqlite3_value_bytes(value)));
    };
    switch (sqlite3_value_type(value)) {
      case SQLITE_INTEGER:
        return Value::of(sqlite3_value_int64(value));
      case SQLITE_TEXT:
        return Value::of(bytes(sqlite3_value_text(value)));
      case SQLITE_BLOB:
        return Value::blob(bytes(sqlite3_value_blob(value)));
      case SQLITE_FLOAT:
        return {Value::Type::real, 0, {}};
      default:
        return {};
    }
  }

 private:
  void check(int result) {
    if (result != SQLITE_OK) throw Failure(result, sqlite3_errmsg(connection_));
  }
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };

  sqlite3* connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
};

}  // namespace sqlite_format
