// The interface of a database driver: connections and transactions. Repositories use
// only this interface. Its failures are Errors with code unavailable or unusable.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/dialect.hpp"
#include "db/query.hpp"
#include "db/readable_view.hpp"
#include "db/refill.hpp"
#include "db/symbols.hpp"

namespace comptroller::db {

// Selects the rows of a table whose key is in [from, last] and that meet all conditions, in order
// of key.
struct TableScan {
  // The column has one of the values, or for a range, a value from the first until before the
  // second.
  struct Condition {
    std::string_view column;
    std::vector<std::int64_t> values;
    bool is_range = false;
  };
  std::string_view table;
  std::vector<std::string_view> columns;
  std::int64_t from = 0;
  std::int64_t last = 0;
  std::vector<Condition> conditions;
};

// An INSERT of one row that does nothing if a unique value of the row is taken.
struct InsertStatement {
  std::string_view table;
  std::vector<std::string_view> columns;  // the columns of the parameters, in order
  std::string sql;
};

// The outcome of an INSERT. A deferred row may have a unique value that is taken; insert it again
// after the filling.
enum class Insertion : std::uint8_t { inserted, taken, deferred };

// A write met a change of another write that ran at the same time, such as a unique value that is
// taken now. A driver that runs several writes at once runs the work of the write again.
class Conflict : public Error {
 public:
  using Error::Error;
};

// The outcome of Connection::lock_journal: another write has the lock; this one had it already; or
// it has got it now.
enum class JournalLock : std::uint8_t { busy, held, taken };

// The connection was lost, or the server is shutting down. Whether the last request was executed is
// not known. A read can run again on another connection.
class Lost : public Error {
 public:
  using Error::Error;
};

class Connection : public Statements {
 public:
  Connection() : Connection(std::make_unique<Symbols>(*this)) {}

  virtual const Dialect& dialect() const = 0;

  // Inserts rows in order. `bind` binds the parameters of a row; they must live until the next call
  // of `bind`. A driver may send many rows together. It defers rows only while a Fill of the table
  // has not finished. If the keys of inserted rows may have gaps, it appends them to `keys`.
  using BindRow = std::function<void(Query& query, std::size_t row)>;
  virtual std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                            const BindRow& bind,
                                            std::vector<std::int64_t>& /*keys*/) {
    std::vector<Insertion> results(rows, Insertion::taken);
    Query run = query(statement.sql);
    for (std::size_t row = 0; row < rows; ++row) {
      bind(run, row);
      if (run.run() > 0) results[row] = Insertion::inserted;
    }
    return results;
  }
  // Returns a statement whose parameter 1 is a list, as in `id = ANY(?)`. The values are of one
  // type, and not NULL; their bytes are copied. Only if the dialect is_remote.
  virtual Query query_list(std::string_view /*sql*/, std::span<const Value> /*values*/) {
    throw Error(Code::internal, "the driver has no lists");
  }
  // Announces runs of a query in this snapshot, by the values of their parameters. A driver whose
  // statements are round trips executes them together, and keeps the rows for these runs.
  using ValuesOfRun = std::function<std::vector<Value>(std::size_t run)>;
  virtual void read_ahead(std::string_view /*sql*/, std::size_t /*runs*/, const ValuesOfRun&) {}
  // Reads many rows faster than SQL; nullopt if the driver cannot. At most one scan or query of
  // rows by key is in use at a time.
  virtual std::optional<Query> scan(const TableScan&) { return std::nullopt; }
  // Returns a query of the row that has the key of parameter 1, faster than SQL; nullopt if the
  // driver cannot. Only in a snapshot, and while no scan and no other such query is in use.
  virtual std::optional<Query> rows_by_key(std::string_view /*table*/,
                                           std::string_view /*columns*/) {
    return std::nullopt;
  }
  // Returns what follows the name of a table in a SELECT that must read the table by the index with
  // these columns and this condition, whatever statistics the database has. Empty if there is no
  // such index, or the driver needs nothing. Valid until the next call.
  virtual std::string_view index_hint(std::string_view /*table*/, std::string_view /*columns*/,
                                      std::string_view /*condition*/) {
    return {};
  }
  // Returns the first column of a query without parameters, in order of its rows. Where guesses are
  // allowed, it may be that of an earlier transaction; check_guesses throws Conflict if it differs.
  virtual std::vector<std::int64_t> numbers(std::string_view sql) {
    std::vector<std::int64_t> all;
    Query rows = query(sql);
    while (rows.step()) all.push_back(rows.number(0));
    return all;
  }
  // Inside a snapshot whose reader begins again after a Conflict. Ends with the snapshot.
  virtual void allow_guesses() {}
  virtual void check_guesses() {}
  // Runs statements without parameters.
  virtual void execute(const std::string& sql) = 0;

  // Whether other writes run at the same time as this connection's write transaction. Then the
  // write locks the rows on which it decides (store/row_locks.hpp).
  virtual bool locks_rows() const { return false; }
  // Whether the entries of this write transaction get their sequence numbers after its commit
  // (store/journal.hpp), because other writes run at the same time.
  virtual bool sequences_later() const { return false; }
  // From now on, no other write gives entries of the journal their sequence numbers until this
  // write transaction ends. `waits` for the write that has the lock.
  virtual JournalLock lock_journal(bool /*waits*/) { return JournalLock::held; }

  // A number that changes when a write transaction begins, and when a part of it is undone. While
  // it stays the same, only this connection has changed what it sees. 0 if the driver does not
  // know.
  virtual std::uint64_t writing_state() const { return 0; }

  // A number that changes if the schema does, or if a restore replaced the content; as of the last
  // transaction that a Snapshot or the database's writer began.
  virtual std::int64_t content() const = 0;

  // See Snapshot.
  virtual void begin_snapshot() = 0;
  virtual void end_snapshot() noexcept = 0;
  // Called at the beginning of a snapshot that answers a request: its statements read few rows, by
  // indexes. A server of the database ends them after a limit, 30 s unless the address has another
  // one; they then throw unavailable.
  virtual void begin_request() {}

  // Returns the tables of the store, in order of name, without those that only the driver uses.
  virtual std::vector<StoredTable> stored_tables() = 0;
  // Empties the tables, which are all of the store, to fill them again.
  virtual std::unique_ptr<Refill> refill(const std::vector<StoredTable>& tables) = 0;

  // Whether the database has exactly these views. They are made again after a record changes.
  virtual bool has_readable_views(std::span<const ReadableView> views) = 0;
  // Makes the views, and replaces views of the same names.
  virtual void make_readable_views(std::span<const ReadableView> views) = 0;

  Symbols& symbols() { return *symbols_; }

 protected:
  explicit Connection(std::unique_ptr<Symbols> symbols) : symbols_(std::move(symbols)) {}

 private:
  std::unique_ptr<Symbols> symbols_;
};

// A read transaction: all its statements see the state of the database at the first read.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) {
    connection_.begin_snapshot();
  }
  ~Snapshot() { connection_.end_snapshot(); }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

// A borrowed connection, returned at the end of the scope.
using Lease = std::unique_ptr<Connection, std::function<void(Connection*)>>;

// The result of a database's own integrity check, below the level of records.
struct Health {
  std::string engine;                 // name and version
  std::vector<std::string> copies;    // files of the engine's library in this process; at most one
  std::vector<std::string> findings;  // the damage found
};

// A bulk write that fills a table. A driver may fill an empty table in a way that is faster than
// INSERT.
struct Filling {
  std::string_view table = {};         // empty: no table is filled
  std::uint64_t bytes = 0;             // approximate size of the input
  bool is_patient = false;             // waits longer for other writers
  bool is_hasty = false;               // fails at once beside another bulk write, if the driver can
  bool may_be_joined = false;          // other writes may run meanwhile, if the driver can
  bool has_own_symbols = false;        // new symbols are part of the transaction
  std::int64_t symbols_of_others = 0;  // the number of keys that `begin` leaves to other writes
};

// One bulk write, without a limit on its duration. No other bulk write runs meanwhile, and no other
// write unless the Filling says so. For one thread.
class Fill {
 public:
  virtual ~Fill() = default;

  // Begins on a private copy of the database, so that other writes continue while rows are
  // inserted. Returns a connection to the copy, in a transaction; null if the driver cannot. From
  // now on, this thread may write only with this object.
  virtual Connection* begin() = 0;

  // Runs `work` while nobody else writes, or also beside others (Filling). It returns whether to
  // keep its changes. `connection` is that of `begin`, or another one if `begin` was not called. If
  // there were other writes since `begin`, it is a connection to a later state, which has got the
  // rows and the new symbols of `before`, the connection of `begin`; otherwise `before` is null.
  // Returns false, without calling `work`, if the later state cannot take them, or false after it
  // if another write conflicted with it; then nothing is kept.
  using Work = std::function<bool(Connection& connection, Connection* before)>;
  virtual bool write(const Work& work) = 0;

  // Called by `work`, at the latest at its end. Until then, statements may not see the rows that
  // insert_new inserted into the table, or may lack its secondary indexes.
  virtual void finish() = 0;
};

// Counts of committed writes, without bulk writes.
struct Commits {
  // Commits of 1 write, of 2, of 3 to 4, of 5 to 8, and so on.
  std::array<std::uint64_t, 9> by_size{};
  std::uint64_t writes = 0;  // total number of writes
};

// The write-ahead log. It begins again when all of it is in the database's file and no reader needs
// it. While a reader keeps an old snapshot, the pending bytes grow with every commit.
struct LogSize {
  std::uint64_t bytes = 0;    // of the commits since it last began again
  std::uint64_t pending = 0;  // of these, the bytes that are not in the database's file yet
};
// A log with more pending bytes is reported: four times the bytes at which a checkpoint is due.
inline constexpr std::uint64_t large_log = std::uint64_t{64} << 20U;

// One database. Safe for many threads; other processes may have it open as well.
class Database {
 public:
  virtual ~Database() = default;

  // Lends a connection for reading, for exclusive use.
  virtual Lease reader() = 0;
  // Lends several connections that see the same current state. Each is inside a snapshot that has
  // begun. For reading whole tables.
  virtual std::vector<Lease> readers_of_one_snapshot(std::size_t count) = 0;

  virtual bool is_writable() const = 0;
  // Throws read_only, or unsupported inside a write of this thread.
  virtual void check_may_write() = 0;

  // Runs `work` in a transaction, which may include the work of other threads, and returns when it
  // is durable. If `work` throws, only its own changes are undone, and the exception is thrown to
  // the caller. `work` may run again after its changes were undone. Throws unavailable if the wait
  // for other writers exceeds 30 s or the commit fails; nothing is then kept. Throws
  // outcome_unknown if the connection was lost during the commit.
  virtual void write(const std::function<void(Connection&)>& work) = 0;

  // Does the same, and returns whether `work` ran: in PostgreSQL, it does not run while a bulk
  // write runs or waits, and other writers are waited for at most 5 s.
  virtual bool write_unless_bulk(const std::function<void(Connection&)>& work) {
    write(work);
    return true;
  }

  // Queues a write and returns. `done` is called once, on any thread, when `work` is durable, or
  // with the exception that prevented it; it must not throw or write, but may queue. Writes that
  // have not begun
  // when the database is closed fail with closed.
  virtual void write_later(std::function<void(Connection&)> work,
                           std::function<void(std::exception_ptr)> done) = 0;

  // Returns a bulk write that has not begun.
  virtual std::unique_ptr<Fill> fill(const Filling& filling) = 0;
  // Runs a bulk write that fills no table.
  void write_bulk(const std::function<bool(Connection&)>& work) {
    fill({})->write([&](Connection& connection, Connection*) { return work(connection); });
  }

  // Returns a number that changes with every commit of any process; it is comparable only with
  // numbers of the same object.
  virtual std::int64_t version() = 0;

  // Writes since the database was opened in this process.
  virtual Commits commits() const = 0;

  // The present size of the log, whichever processes write it.
  virtual LogSize log_size() = 0;

  // Returns a function that returns the difference between the database's clock and this process's,
  // in microseconds, as last measured; empty if the database has no clock of its own. The function
  // may outlive the database.
  virtual std::function<std::int64_t()> clock_offset() const { return {}; }

  // The folder for temporary files of data that does not fit into memory.
  virtual std::string folder() const = 0;

  // Whether a path leads to one of the database's own files. Such a file must not be replaced.
  virtual bool owns(const std::string& path) const = 0;

  // Checks the integrity of the whole database.
  virtual Health health() = 0;

  // Makes a consistent copy in a new file, durable on return. Writes continue meanwhile. `observe`
  // is called with a connection that sees the copied state.
  using Observe = std::function<void(Connection&)>;
  virtual void backup(const std::string& destination, const Observe& observe) = 0;

  // Ends all reads, bulk writes and waits soon, and all later ones. They throw closed. Other writes
  // that have begun are ended or finish. Safe for any thread.
  virtual void interrupt() noexcept = 0;
};

}  // namespace comptroller::db
