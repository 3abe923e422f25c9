// One SQLite connection with its prepared statements.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

// How long a statement waits for a lock that only a stranger to our lock file can hold.
inline constexpr int busy_timeout_ms = 5000;

// Throws the Error that a result code stands for; does not name paths or SQL.
[[noreturn]] void throw_failure(int result);
inline void check(int result) {
  if (result != SQLITE_OK) throw_failure(result);
}

struct CloseConnection {
  void operator()(sqlite3* connection) const { sqlite3_close_v2(connection); }
};

class SqliteConnection final : public Connection {
 public:
  // `flags` of sqlite3_open_v2; NOMUTEX is added.
  SqliteConnection(const std::string& path, int flags);
  ~SqliteConnection() override;

  Query query(std::string_view sql) override;
  void execute(const std::string& sql) override;

  sqlite3* handle() const { return handle_.get(); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // Leaves the log as it is when this connection closes.
  void keep_log() { sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

 private:
  class SqliteStatement;
  struct Hash {
    using is_transparent = void;
    // Statements differ in length or towards their end; reading all of them would cost as much as
    // binding a row.
    std::size_t operator()(std::string_view sql) const {
      constexpr std::size_t read = 128;
      const std::size_t end = sql.size() < read ? 0 : sql.size() - read;
      return std::hash<std::string_view>{}(sql.substr(end)) + sql.size();
    }
  };

  void drop_idle_statements();

  std::unique_ptr<sqlite3, CloseConnection> handle_;
  std::unordered_map<std::string, std::unique_ptr<SqliteStatement>, Hash, std::equal_to<>>
      statements_;
  std::size_t sql_bytes_ = 0;  // of the texts of statements_
};

}  // namespace comptroller::db::sqlite
