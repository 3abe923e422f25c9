// One SQLite connection.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>

#include "db/database.hpp"
#include "db/sqlite/statement.hpp"

namespace comptroller::db::sqlite {

// How long a statement waits for a lock that only a program without our lock files can hold.
inline constexpr int busy_timeout_ms = 5000;

// Throws the Error that a result code stands for; does not name paths or SQL.
[[noreturn]] void throw_failure(int result);

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};

class SqliteConnection final : public Connection {
 public:
  // `flags` of sqlite3_open_v2; NOMUTEX is added.
  SqliteConnection(const std::string& path, int flags);
  ~SqliteConnection() override;

  Query query(std::string_view sql) override { return Query(statements_.take(*this, sql)); }
  void execute(const std::string& sql) override;
  std::int64_t last_inserted_key() override;
  std::int64_t changed_rows() override;

  sqlite3* handle() const { return handle_.get(); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // Leaves the log as it is when this connection closes.
  void keep_log() { sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

  void check(int result) {
    if (result != SQLITE_OK) fail(result);
  }
  // Throws the Error that the result of a call on this connection stands for.
  [[noreturn]] void fail(int result);

 private:
  std::unique_ptr<sqlite3, CloseConnection> handle_;
  StatementCache statements_;
};

}  // namespace comptroller::db::sqlite
