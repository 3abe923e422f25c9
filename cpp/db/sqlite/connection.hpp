// One SQLite connection.
#pragma once

#include <sqlite3.h>

#include <exception>
#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/file_state.hpp"
#include "db/sqlite/interrupt.hpp"
#include "db/sqlite/page_scan.hpp"
#include "db/sqlite/pages.hpp"
#include "db/sqlite/row_lookup.hpp"
#include "db/sqlite/statement.hpp"

namespace comptroller::db::sqlite {

// Throws the Error for a result code. Its message contains no paths or SQL.
[[noreturn]] void throw_failure(int result);

// Returns the path as a URI of a file that does not change. SQLite reads it without a lock and
// without creating files beside it.
std::string immutable_uri(const std::string& path);
// Returns the path as a URI of a file that only the caller uses, which SQLite opens without locks.
std::string private_uri(const std::string& path);

class PrivateCopy;
class TableFiller;

class SqliteConnection final : public Connection {
 public:
  // `flags` and `vfs` are those of sqlite3_open_v2; NOMUTEX is added.
  SqliteConnection(const std::string& path, int flags, const char* vfs = nullptr);
  ~SqliteConnection() override;

  Query query(std::string_view sql) override {
    ++queries_;
    return Query(statements_.take(*this, sql));
  }
  std::optional<Query> scan(const TableScan& scan) override;
  std::optional<Query> rows_by_key(std::string_view table, std::string_view columns) override;
  std::string_view index_hint(std::string_view table, std::string_view columns,
                              std::string_view condition) override;
  void execute(const std::string& sql) override;
  std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                    const BindRow& bind) override;
  void begin_filling(std::string_view table) override;
  bool continue_filling(Connection& prepared) override;
  void end_filling() override;
  void begin_snapshot() override;
  void end_snapshot() noexcept override;
  bool has_readable_views(std::span<const ReadableView> views) override;
  void make_readable_views(std::span<const ReadableView> views) override;

  sqlite3* handle() const { return handle_.get(); }
  bool in_transaction() const { return sqlite3_get_autocommit(handle_.get()) == 0; }
  // Ends the transaction, if one is active.
  void roll_back() noexcept;
  // Returns the number that a statement selects; 0 if it selects no row.
  std::int64_t read_number(std::string_view sql);
  // Reads tables only with SQL from now on, not by their pages.
  void read_with_sql() { reads_pages_ = false; }
  // Fixes the state that a new transaction sees; without it, SQLite does so at the first read.
  // Drops what is cached of the content if a restore may have replaced it.
  void read_now();
  // From now on, read_now throws unusable if the content is not a store of the newest schema.
  void require_store() { requires_store_ = true; }
  std::int64_t content() const override { return content_.value_or(0); }
  // Whether the log is open. The first read opens it, unless the file was opened as immutable.
  bool has_log() const { return file_of(handle(), SQLITE_FCNTL_JOURNAL_POINTER) != nullptr; }
  // Begins a snapshot of the current state. Returns the last commit that it sees, if known.
  std::optional<LastCommit> begin_present_snapshot();
  // Each commit waits for the disk. The log is written to the database only on request.
  void commit_durably() { execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0"); }
  // Writes the log to the database and empties it. Does not wait for readers: frames that they need
  // stay in the log. Returns the number of frames in the log, if known.
  std::optional<int> truncate_log() noexcept;
  // Keeps the log as it is when this connection closes.
  void keep_log() { sqlite3_db_config(handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

  // begin_filling fills tables of this copy from now on. It must outlive the connection.
  void set_private_copy(PrivateCopy* copy) { private_copy_ = copy; }
  PrivateCopy* private_copy() const { return private_copy_; }
  // The running thread checks `interrupt`, and a statement ends with the exception that it throws.
  // By default statements are not interrupted. `interrupt` must outlive the connection.
  void set_interrupt(const Interrupt* interrupt) { interrupt_ = interrupt; }
  const Interrupt* interrupt() const { return interrupt_; }
  // No lock of another program is awaited after the deadline, and a statement that can be
  // interrupted then ends with unavailable.
  void set_deadline(Deadline deadline) { deadline_ = deadline; }
  // Throws the exception that would end a statement now; for work without statements.
  void check_interrupt();

  // For a file that is opened as immutable. From now on, a read throws unavailable if the file is
  // not in this state.
  void require_state(std::string path, const FileState& state) {
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

 private:
  // Callbacks of SQLite, which must not throw.
  static int on_progress(void* connection) noexcept;
  static int on_busy(void* connection, int count) noexcept;
  void compare_state() const;
  bool has_pages();
  bool are_pages_in_use() const;
  void forget_snapshot() noexcept;

  // Finds the rows of a table with these columns.
  struct Lookup {
    std::string table;
    std::string columns;
    std::optional<RowLookup> rows;  // nullopt if only SQL can evaluate the columns
  };

  struct IndexHint {
    std::string table;
    std::string columns;
    std::string condition;
    std::string hint;
  };

  std::unique_ptr<sqlite3, Release<sqlite3_close_v2>> handle_;
  StatementCache statements_;
  std::string path_;
  std::optional<FileState> state_;
  bool reads_pages_ = true;
  bool requires_store_ = false;
  bool is_in_snapshot_ = false;
  std::optional<std::int64_t> content_;  // of which the symbols are cached
  // The last commit before the snapshot, until its pages are first read; nullopt if only SQL reads
  // them.
  std::optional<LastCommit> before_snapshot_;
  std::unique_ptr<Pages> pages_;
  bool has_pages_ = false;  // whether pages_ has those of the snapshot
  std::optional<PageScan> page_scan_;
  std::list<Lookup> lookups_;
  std::uint32_t schema_of_lookups_ = 0;
  std::vector<IndexHint> index_hints_;
  std::int64_t schema_of_index_hints_ = 0;
  std::string dropped_indexes_;          // statements that create them again
  PrivateCopy* private_copy_ = nullptr;  // the owner of this connection
  std::unique_ptr<TableFiller> filler_;
  const Interrupt* interrupt_ = nullptr;
  Deadline deadline_ = Deadline::max();
  Deadline busy_until_{};
  std::exception_ptr thrown_;  // by a callback; thrown again after SQLite returned
  unsigned queries_ = 0;
  unsigned checked_queries_ = 0;  // queries_ at the last callback
  Clock::time_point called_{};    // the last callback
  Clock::time_point checked_{};   // the last call of interrupt_
};

}  // namespace comptroller::db::sqlite
