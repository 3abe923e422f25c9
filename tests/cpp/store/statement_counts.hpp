// Counts of SQLite for the statements of a connection.
#pragma once

#include <doctest/doctest.h>

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::store {

inline sqlite3* handle_of(db::Connection& connection) {
  return dynamic_cast<db::sqlite::SqliteConnection&>(connection).handle();
}

// Returns the virtual machine's steps of all statements since the last call: a deterministic
// measure of the rows visited.
inline std::int64_t take_steps(db::Connection& connection) {
  std::int64_t steps = 0;
  sqlite3* const handle = handle_of(connection);
  for (sqlite3_stmt* statement = sqlite3_next_stmt(handle, nullptr); statement != nullptr;
       statement = sqlite3_next_stmt(handle, statement)) {
    steps += sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 1);
  }
  return steps;
}

// Returns the rows inserted, updated and deleted by a connection since it was opened.
inline std::int64_t total_changes(db::Connection& connection) {
  return sqlite3_total_changes64(handle_of(connection));
}

// Checks that no statement of a connection scans a table or an index, or sorts more than a few
// rows.
inline void check_plans(db::Connection& connection) {
  sqlite3* const handle = handle_of(connection);
  for (sqlite3_stmt* statement = sqlite3_next_stmt(handle, nullptr); statement != nullptr;
       statement = sqlite3_next_stmt(handle, statement)) {
    const std::string sql = sqlite3_sql(statement);
    // At opening; the last two check a migration.
    if (sql.find("sqlite_schema") != std::string::npos) continue;
    if (sql.find("pragma_table_") != std::string::npos) continue;
    if (sql.starts_with("SELECT count(*) FILTER (WHERE typeof(")) continue;
    sqlite3_stmt* plan = nullptr;
    if (sqlite3_prepare_v2(handle, ("EXPLAIN QUERY PLAN " + sql).c_str(), -1, &plan, nullptr) !=
        SQLITE_OK) {
      continue;
    }
    while (sqlite3_step(plan) == SQLITE_ROW) {
      const std::string line = reinterpret_cast<const char*>(sqlite3_column_text(plan, 3));
      CAPTURE(sql);
      CAPTURE(line);
      // A table with one row for each change in progress.
      if (line == "SCAN jurisdiction_changes") continue;
      if (line.starts_with("SCAN json_each")) continue;  // given keys
      if (line.starts_with("SCAN webhooks")) continue;   // at most 1000
      if (sql.find("FROM customers LIMIT 17") != std::string::npos) continue;
      CHECK_FALSE(line.starts_with("SCAN "));
    }
    sqlite3_finalize(plan);
  }
}

}  // namespace comptroller::store
