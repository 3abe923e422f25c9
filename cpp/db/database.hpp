// The interface of a database driver: connections, statements and transactions. Repositories use
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
#include <vector>

#include "db/readable_view.hpp"
#include "db/symbols.hpp"
#include "model/error.hpp"

namespace comptroller::db {

// One value of a column or a parameter. It does not own its bytes. The bytes of a column are valid
// until the statement's next step; the bytes of a parameter must be valid until the statement is
// reset.
struct Value {
  // No column of a store holds real numbers.
  enum class Kind : std::uint8_t { null, integer, text, blob, real };

  Kind kind = Kind::null;
  std::int64_t integer = 0;
  std::string_view bytes;

  static Value null() { return {}; }
  static Value of(std::int64_t number) { return {Kind::integer, number, {}}; }
  static Value of(std::string_view text) { return {Kind::text, 0, text}; }
  static Value of(const Value& value) { return value; }
  static Value blob(std::string_view bytes) { return {Kind::blob, 0, bytes}; }
  static Value real() { return {Kind::real, 0, {}}; }
  bool is_null() const { return kind == Kind::null; }
  friend bool operator==(const Value&, const Value&) = default;
};

// Returns the error of a value whose type is not that of its column; `wanted` is "an integer".
[[gnu::cold]] Error wrong_type(const Value& value, std::string_view wanted);
// Returns the error of a damaged value with its place in the store; other errors are unchanged.
[[gnu::cold]] Error located(const Error& error, const std::string& place);

// The driver's part of a Query. A statement without SQL refuses the calls that it does not
// override.
class Statement {
 public:
  virtual ~Statement() = default;
  // A bind after a step begins another run; the other parameters keep their values.
  virtual void bind(int /*index*/, const Value&) { refuse(); }              // index from 1
  virtual void bind(std::string_view /*name*/, const Value&) { refuse(); }  // as written: "$name"
  virtual bool step() { refuse(); }  // true if there is a row
  // Steps over at most `max` rows, which is not 0; returns how many, 0 only after the last row.
  virtual std::size_t step_rows(std::size_t /*max*/) { return step() ? 1 : 0; }
  // Runs the statement to its end and returns the number of rows inserted, updated or deleted.
  // Parameters can then be bound for another run.
  virtual std::int64_t run() { refuse(); }
  // Runs an INSERT of one row; returns its key, or nullopt if ON CONFLICT DO NOTHING skipped it.
  virtual std::optional<std::int64_t> insert() { refuse(); }
  // Returns the value of a column, from index 0, of one of the rows of the last step. It is valid
  // until the next step.
  const Value& column(int index, std::size_t row = 0) {
    return values_ != nullptr ? values_[row * width_ + static_cast<std::size_t>(index)]
                              : column_of_row(index);
  }
  // Returns the table, column and key of a value of the last step, as far as they are known, for an
  // error message.
  virtual std::string place_of(int /*index*/, std::size_t /*row*/) { return "a value"; }
  // Ends the run and clears the parameters.
  virtual void reset() { is_in_use_ = false; }

  void use() { is_in_use_ = true; }
  bool is_in_use() const { return is_in_use_; }

 protected:
  Statement() = default;
  // For a statement whose steps write the columns of the rows to `values`, `width` for each row.
  Statement(const Value* values, std::size_t width) : values_(values), width_(width) {}

 private:
  virtual const Value& column_of_row(int /*index*/) { refuse(); }
  [[noreturn]] static void refuse() { throw Error(Code::internal, "a statement without SQL"); }

  const Value* values_ = nullptr;
  std::size_t width_ = 0;
  bool is_in_use_ = false;
};

// A prepared statement in use; returned to its connection at the end of the scope.
class Query {
 public:
  explicit Query(Statement& statement) : statement_(&statement) {}

  // By index or by name; a number, a text or a Value.
  template <class Parameter, class T>
  Query& bind(const Parameter& parameter, const T& value) {
    statement_->bind(parameter, Value::of(value));
    return *this;
  }
  // The bytes of a text must live until the statement has run.
  template <class Parameter>
  Query& bind(const Parameter& parameter, std::string&& text) = delete;
  bool step() { return statement_->step(); }
  std::size_t step_rows(std::size_t max) { return statement_->step_rows(max); }
  // Runs the statement to its end and returns the number of rows inserted, updated or deleted.
  // Parameters can then be bound for another run.
  std::int64_t run() { return statement_->run(); }
  // Runs an INSERT of one row; returns its key, or nullopt if ON CONFLICT DO NOTHING skipped it.
  std::optional<std::int64_t> insert() { return statement_->insert(); }
  const Value& column(int index, std::size_t row = 0) { return statement_->column(index, row); }
  // Returns the value of a column of integers; throws unusable for any other value.
  std::int64_t number(int index) {
    const Value& value = column(index);
    if (value.kind == Value::Kind::integer) return value.integer;
    throw located(wrong_type(value, "an integer"), statement_->place_of(index, 0));
  }
  // Runs `read`, which reads a value of the last step; the error of a damaged value names its
  // place.
  void locate(int index, std::size_t row, const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      throw located(error, statement_->place_of(index, row));
    }
  }

 private:
  struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
  };
  std::unique_ptr<Statement, Reset> statement_;
};

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

// For one thread at a time.
class Connection {
 public:
  Connection() : symbols_(*this) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // Returns a prepared statement, cached by its text. Several statements of one text can be in use.
  virtual Query query(std::string_view sql) = 0;
  // Runs a statement with values of the parameters 1, 2, ...; returns Query::run.
  template <class... T>
  std::int64_t run(std::string_view sql, const T&... values) {
    Query statement = query(sql);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement.run();
  }
  // Inserts rows in order. `bind` binds the parameters of a row; they must live until the next call
  // of `bind`. A driver may send many rows together. It defers rows only between begin_filling and
  // end_filling of the table.
  using BindRow = std::function<void(Query& query, std::size_t row)>;
  virtual std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                            const BindRow& bind) {
    std::vector<Insertion> results(rows, Insertion::taken);
    Query run = query(statement.sql);
    for (std::size_t row = 0; row < rows; ++row) {
      bind(run, row);
      if (run.run() > 0) results[row] = Insertion::inserted;
    }
    return results;
  }
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
  // Runs statements without parameters.
  virtual void execute(const std::string& sql) = 0;

  // Prepares an empty table to be filled faster; does nothing if the table has rows. Only for a
  // bulk write, which must call end_filling before it ends, or keeps nothing. Before end_filling,
  // statements may not see the inserted rows, or may lack the secondary indexes of the table.
  virtual void begin_filling(std::string_view table) = 0;
  // Takes over the filling that was begun on the connection of Database::prepare. Returns false if
  // it cannot; the connection must then keep nothing.
  virtual bool continue_filling(Connection& /*prepared*/) { return false; }
  // Afterwards all rows and indexes are in place.
  virtual void end_filling() = 0;

  // A number that changes if the schema does, or if a restore replaced the content; as of the last
  // transaction that a Snapshot or the database's writer began.
  virtual std::int64_t content() const = 0;

  // See Snapshot.
  virtual void begin_snapshot() = 0;
  virtual void end_snapshot() noexcept = 0;

  // Whether the database has exactly these views. They are made again after a record changes.
  virtual bool has_readable_views(std::span<const ReadableView> views) = 0;
  // Makes the views, and replaces views of the same names.
  virtual void make_readable_views(std::span<const ReadableView> views) = 0;

  Symbols& symbols() { return symbols_; }

 private:
  Symbols symbols_;
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

// The table that a bulk write fills, and how it begins.
struct Filling {
  std::string_view table;          // empty: none
  std::uint64_t bytes = 0;         // approximate size of the input
  Connection* prepared = nullptr;  // of Database::prepare, if the write was prepared
  bool is_patient = false;         // waits longer for other writers
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
  // the caller. Throws unavailable if the wait for other writers exceeds 30 s or the commit fails;
  // nothing is then kept.
  virtual void write(const std::function<void(Connection&)>& work) = 0;

  // Queues a write and returns. `done` is called once, on any thread, when `work` is durable, or
  // with the exception that prevented it; it must not throw or write. Writes that have not begun
  // when the database is closed fail with closed.
  virtual void write_later(std::function<void(Connection&)> work,
                           std::function<void(std::exception_ptr)> done) = 0;

  // Begins a bulk write on a private copy, so that other writes continue while it begins to fill
  // the table. Lends a connection to the copy, in a transaction, for this thread; null if the
  // driver cannot. Until it returns the connection, this thread may write only through
  // write_bulk.
  virtual Lease prepare(const Filling& filling) = 0;

  // Runs a bulk write, alone in its transaction and without a limit on its duration. `work` returns
  // whether to keep its changes. A driver may choose how to fill the table of `filling` if it is
  // empty. The connection of a prepared write is that of `prepare`, unless there were other
  // writes since; a later state of the database must then continue the filling.
  virtual void write_bulk(const std::function<bool(Connection&)>& work, const Filling& filling) = 0;
  void write_bulk(const std::function<bool(Connection&)>& work) { write_bulk(work, {}); }

  // Returns a number that changes with every commit of any process; it is comparable only with
  // numbers of the same object.
  virtual std::int64_t version() = 0;

  // Writes since the database was opened in this process.
  virtual Commits commits() const = 0;

  // The present size of the log, whichever processes write it.
  virtual LogSize log_size() = 0;

  // The folder for temporary files of data that does not fit into memory.
  virtual std::string folder() const = 0;

  // Whether a path leads to one of the database's own files. Such a file must not be replaced.
  virtual bool owns(const std::string& path) const = 0;

  // Checks the integrity of the whole database.
  virtual Health health() = 0;

  // Makes a consistent copy in a new file, durable on return. Writes continue meanwhile.
  virtual void backup(const std::string& destination) = 0;

  // Ends all reads, bulk writes and waits soon, and all later ones. They throw closed. Other writes
  // that have begun are ended or finish. Safe for any thread.
  virtual void interrupt() noexcept = 0;
};

}  // namespace comptroller::db
