// An open SQLite connection whose calls can be interrupted, and the errors of its results.
#pragma once

#include <sqlite3.h>

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

#include "db/interrupt.hpp"
#include "files/file_state.hpp"
#include "model/error.hpp"
#include "sqlite_format/sqlite_format.hpp"

namespace comptroller::db::sqlite {

// Releases an object of a C library with the library's function.
template <auto function>
struct Release {
  void operator()(auto* object) const { function(object); }
};

// Throws the Error for a result code. Its message contains no paths or SQL.
[[noreturn]] void throw_failure(int result);

// Returns the path as a URI of a file that does not change. SQLite reads it without a lock and
// without creating files beside it.
std::string immutable_uri(const std::string& path);
// Returns the path as a URI of a file that only the caller uses, which SQLite opens without locks.
std::string private_uri(const std::string& path);

// For one thread at a time.
class Handle {
 public:
  // `flags` and `vfs` are those of sqlite3_open_v2; NOMUTEX is added.
  Handle(const std::string& path, int flags, const char* vfs = nullptr);
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  ~Handle() = default;

  sqlite3* handle() const { return handle_.get(); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // Runs statements without parameters.
  void execute(const std::string& sql);
  // Each commit waits for the disk. The log is written to the database only on request.
  void commit_durably() { execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"); }
  // Writes the log to the database and empties it. Does not wait for readers: frames that they need
  // stay in the log. Returns the number of frames in the log, if known.
  std::optional<int> truncate_log() noexcept;
  // Throws unavailable or unusable if writes will fail: if SQLite cannot open the log or its index
  // for writing, it opens them only for reading, for as long as the connection is open.
  void check_log();
  // Keeps the log as it is when this connection closes.
  void keep_log() { sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

  // The running thread checks `interrupt`, and a statement ends with the exception that it throws.
  // By default statements are not interrupted. `interrupt` must outlive the connection.
  void set_interrupt(const Interrupt* interrupt) { interrupt_ = interrupt; }
  const Interrupt* interrupt() const { return interrupt_; }
  // No lock of another program is awaited after the deadline, and a statement that can be
  // interrupted then ends with unavailable.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  // Throws the exception that would end a statement now; for work without statements.
  void check_interrupt();
  // Call it when a statement begins.
  void count_statement() { ++statements_; }

  // For a file that is opened as immutable. From now on, a read throws unavailable if the file is
  // not in this state.
  void require_state(std::string path, const files::FileState& state) {
    path_ = std::move(path);
    state_ = state;
  }
  // Throws unavailable if the file is not in the required state, so that what was read since may be
  // of several states.
  void check_state() const {
    if (state_) compare_state();
  }

  void check(int result) {
    if (result != SQLITE_OK) fail(result);
  }
  // Throws the exception that interrupted the call on this connection, else the Error of its
  // result.
  [[noreturn]] void fail(int result);
  [[noreturn]] void fail(const sqlite_format::Failure& failure);
  // Runs `work` of sqlite_format with this connection; throws the Errors of its failures.
  auto translate(const auto& work) {
    try {
      return work();
    } catch (const sqlite_format::Failure& failure) {
      fail(failure);
    } catch (const std::system_error& failure) {
      throw Error::of_system(failure.code().value(), "a private file cannot be used");
    }
  }

 private:
  // Callbacks of SQLite, which must not throw.
  static int on_progress(void* handle) noexcept;
  static int on_busy(void* handle, int count) noexcept;
  void compare_state() const;
  void check_reason(int result) const;

  std::unique_ptr<sqlite3, Release<sqlite3_close_v2>> handle_;
  std::string path_;
  std::optional<files::FileState> state_;
  const Interrupt* interrupt_ = nullptr;
  Deadline deadline_ = Deadline::max();
  Deadline busy_until_{};
  std::exception_ptr thrown_;  // by a callback; thrown again after SQLite returned
  unsigned statements_ = 0;
  unsigned checked_statements_ = 0;  // statements_ at the last callback
  Clock::time_point called_{};       // the last callback
  Clock::time_point checked_{};      // the last call of interrupt_
};

}  // namespace comptroller::db::sqlite
