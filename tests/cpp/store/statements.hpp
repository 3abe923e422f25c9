// Records every statement of a call, with its cost and its plan.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

namespace comptroller::store {

struct RanStatement {
  std::string sql;
  std::int64_t steps = 0;    // instructions of SQLite's virtual machine
  std::int64_t scanned = 0;  // rows visited without an index
};

// Records the statements of all connections that are opened during its lifetime. Only one recorder
// may exist at a time.
class StatementRecorder {
 public:
  StatementRecorder() {
    recorder() = this;
    sqlite3_auto_extension(reinterpret_cast<void (*)()>(&watch));
  }
  ~StatementRecorder() {
    sqlite3_cancel_auto_extension(reinterpret_cast<void (*)()>(&watch));
    recorder() = nullptr;
  }
  StatementRecorder(const StatementRecorder&) = delete;
  StatementRecorder& operator=(const StatementRecorder&) = delete;

  std::vector<RanStatement> record(const std::function<void()>& call) {
    ran_.clear();
    call();
    const std::lock_guard lock(mutex_);
    return std::move(ran_);
  }

  // Returns the lines of EXPLAIN QUERY PLAN, on the database of the last recorded statement.
  std::vector<std::string> plan(const std::string& sql) {
    if (const auto known = plans_.find(path_ + '\n' + sql); known != plans_.end()) {
      return known->second;
    }
    sqlite3* connection = nullptr;
    sqlite3_open_v2(path_.c_str(), &connection, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_stmt* statement = nullptr;
    std::vector<std::string> lines;
    const std::string explain = "EXPLAIN QUERY PLAN " + sql;
    sqlite3_prepare_v2(connection, explain.c_str(), -1, &statement, nullptr);
    while (sqlite3_step(statement) == SQLITE_ROW) {
      lines.emplace_back(reinterpret_cast<const char*>(sqlite3_column_text(statement, 3)));
    }
    sqlite3_finalize(statement);
    sqlite3_close_v2(connection);
    return plans_[path_ + '\n' + sql] = lines;
  }

 private:
  static StatementRecorder*& recorder() {
    static StatementRecorder* current = nullptr;
    return current;
  }
  static int watch(sqlite3* connection, const char**, const struct sqlite3_api_routines*) {
    return sqlite3_trace_v2(connection, SQLITE_TRACE_PROFILE, &note, nullptr);
  }
  static int note(unsigned, void*, void* statement, void*) {
    if (recorder() == nullptr) return 0;
    auto* ran = static_cast<sqlite3_stmt*>(statement);
    RanStatement entry{sqlite3_sql(ran), sqlite3_stmt_status(ran, SQLITE_STMTSTATUS_VM_STEP, 1),
                       sqlite3_stmt_status(ran, SQLITE_STMTSTATUS_FULLSCAN_STEP, 1)};
    const std::lock_guard lock(recorder()->mutex_);
    recorder()->path_ = sqlite3_db_filename(sqlite3_db_handle(ran), "main");
    recorder()->ran_.push_back(std::move(entry));
    return 0;
  }

  std::mutex mutex_;
  std::vector<RanStatement> ran_;
  std::string path_;
  std::map<std::string, std::vector<std::string>> plans_;
};

}  // namespace comptroller::store
