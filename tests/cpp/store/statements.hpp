// Records every statement of a call, with its cost and its plan.
#pragma once

#include <sqlite3.h>

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "store/statistics.hpp"

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

  // The lines of EXPLAIN QUERY PLAN on the schema of the last recorded statement, without
  // statistics, and the different ones with each kind of statistics.
  struct Plans {
    std::vector<std::string> usual;
    std::vector<std::string> others;
  };
  const Plans& plans(const std::string& sql) {
    if (const auto known = plans_.find(path_ + '\n' + sql); known != plans_.end()) {
      return known->second;
    }
    sqlite3* connection = nullptr;
    sqlite3_open_v2(path_.c_str(), &connection, SQLITE_OPEN_READWRITE, nullptr);
    Plans plans{plan_of(connection, sql), {}};
    auto& schemas = schemas_[path_ + texts_of(connection, "PRAGMA schema_version", 0).front()];
    for (std::size_t kind = 0; schemas.size() < Statistics::kinds; ++kind) {
      schemas.push_back(std::make_unique<SchemaWithStatistics>(connection, kind));
    }
    for (const auto& schema : schemas) {
      const auto plan = schema->plan(sql);
      if (plan == plans.usual) continue;
      std::string& other = plans.others.emplace_back();
      for (const std::string& line : plan) other.append(line).append("; ");
    }
    sqlite3_close_v2(connection);
    return plans_[path_ + '\n' + sql] = std::move(plans);
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
  std::map<std::string, Plans> plans_;
  std::map<std::string, std::vector<std::unique_ptr<SchemaWithStatistics>>> schemas_;
};

}  // namespace comptroller::store
