// The interface of a database driver: connections, statements and transactions. Repositories use
// nothing else of a database. Its failures are Errors with code unavailable.
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

namespace comptroller::db {

// One value of a column or a parameter. It does not own its bytes: those of a column are valid
// until the statement's next step, those of a parameter must be until the statement is reset.
struct Value {
  enum class Kind : std::uint8_t { null, integer, text, blob };

  Kind kind = Kind::null;
  std::int64_t integer = 0;
  std::string_view bytes;

  static Value null() { return {}; }
  static Value of(std::int64_t number) { return {Kind::integer, number, {}}; }
  static Value of(std::string_view text) { return {Kind::text, 0, text}; }
  static Value blob(std::string_view bytes) { return {Kind::blob, 0, bytes}; }
  bool is_null() const { return kind == Kind::null; }
  friend bool operator==(const Value&, const Value&) = default;
};

// The driver's part of a Query.
class Statement {
 public:
  virtual ~Statement() = default;
  virtual void bind(int index, const Value& value) = 0;              // index from 1
  virtual void bind(std::string_view name, const Value& value) = 0;  // as written: "$name"
  virtual bool step() = 0;                                           // whether there is a row
  // Runs to the end; then parameters can be bound for another run. Returns the number of rows
  // inserted, updated or deleted.
  virtual std::int64_t run() = 0;
  // Runs an INSERT of one row; returns its key unless ON CONFLICT DO NOTHING left it out.
  virtual std::optional<std::int64_t> insert() = 0;
  virtual Value column(int index) = 0;  // index from 0
  virtual void reset() = 0;             // ends the run and clears the parameters
};

// A prepared statement in use; returned to its connection at the end of the scope.
class Query {
 public:
  explicit Query(Statement& statement) : statement_(&statement) {}

  // By index or by name.
  template <class Parameter>
  Query& bind(const Parameter& parameter, const Value& value) {
    statement_->bind(parameter, value);
    return *this;
  }
  bool step() { return statement_->step(); }
  // Runs a statement to its end; returns how many rows it inserted, updated or deleted. Then it can
  // be bound and run again.
  std::int64_t run() { return statement_->run(); }
  // Runs an INSERT of one row; returns its key unless ON CONFLICT DO NOTHING left it out.
  std::optional<std::int64_t> insert() { return statement_->insert(); }
  Value column(int index) { return statement_->column(index); }

 private:
  struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
  };
  std::unique_ptr<Statement, Reset> statement_;
};

// Rows of a table in order of key: those whose key is in [from, before) and that meet all
// conditions.
struct TableScan {
  struct AnyOf {
    std::string_view column;
    std::vector<std::int64_t> values;
  };
  struct Range {
    std::string_view column;
    std::int64_t from = 0;
    std::int64_t before = 0;
  };
  std::string_view table;
  std::vector<std::string_view> columns;
  std::int64_t from = 0;
  std::int64_t before = 0;
  std::vector<AnyOf> conditions;
  std::optional<Range> time;
};

// An INSERT of one row that does nothing if a unique value of the row is taken.
struct InsertStatement {
  std::string_view table;
  std::vector<std::string_view> columns;  // of the parameters, in their order
  std::string sql;
};

// What became of a row. A deferred one may have a unique value that is taken; it is to be inserted
// again after the filling.
enum class Insertion : std::uint8_t { inserted, taken, deferred };

// For one thread at a time.
class Connection {
 public:
  Connection() : symbols_(*this) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A prepared statement, cached by its text. A text may be in use several times at once.
  virtual Query query(std::string_view sql) = 0;
  // Inserts rows in order; `bind` binds the row's parameters, which must live until it is called
  // again. A driver may send many rows together, and defers rows only between begin_filling and
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
  // A faster way than SQL to read many rows; none where the driver has no other. At most one is in
  // use at a time.
  virtual std::optional<Query> scan(const TableScan&) { return std::nullopt; }
  // Runs statements that take no parameters.
  virtual void execute(const std::string& sql) = 0;

  // Prepares an empty table to be filled faster; nothing if it has rows. In a bulk write only,
  // which ends the filling before it ends, or keeps nothing. Until then statements do not see the
  // rows that were inserted, or lack the table's secondary indexes.
  virtual void begin_filling(std::string_view table) = 0;
  // All rows and indexes are in place after this.
  virtual void end_filling() = 0;

  // See Snapshot.
  virtual void begin_snapshot() = 0;
  virtual void end_snapshot() noexcept = 0;

  // Whether the database has exactly these views; they are made again after a change of a record.
  virtual bool has_readable_views(std::span<const ReadableView> views) = 0;
  // Makes the views, replacing those of the same names.
  virtual void make_readable_views(std::span<const ReadableView> views) = 0;

  Symbols& symbols() { return symbols_; }

 private:
  Symbols symbols_;
};

// A read transaction: all its statements see one state of the database, that of the first read.
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

// The result of a database's own check, below the level of records.
struct Health {
  std::string engine;                 // name and version
  std::vector<std::string> copies;    // files of the engine's library in this process; at most one
  std::vector<std::string> findings;  // what is damaged
};

// What a bulk write is going to fill.
struct Filling {
  std::string_view table;   // empty: none
  std::uint64_t bytes = 0;  // about how many are to be loaded
};

// Counts of committed writes, without bulk writes.
struct Commits {
  // Commits of 1 write, of 2, of 3 to 4, of 5 to 8, and so on.
  std::array<std::uint64_t, 9> by_size{};
  std::uint64_t writes = 0;  // in all
};

// One database, for any thread; other processes may have it open as well.
class Database {
 public:
  virtual ~Database() = default;

  // A connection for reading that nobody else uses.
  virtual Lease reader() = 0;
  // Several that see the same, present state, each inside a snapshot begun for the caller: the way
  // to read whole tables.
  virtual std::vector<Lease> readers_of_one_snapshot(std::size_t count) = 0;

  virtual bool is_writable() const = 0;

  // Runs `work` in a transaction, possibly together with that of other threads, and returns when it
  // is durable. If `work` throws, its changes alone are undone and the exception is thrown here.
  // Throws unavailable if the wait for other writers exceeds 30 s or the commit fails; nothing is
  // kept then.
  virtual void write(const std::function<void(Connection&)>& work) = 0;

  // Queues the same, and returns. `done` is called once, on any thread, when `work` is durable, or
  // with the exception that prevented it; it must not throw or write. Writes that have not begun
  // when the database is closed are unavailable.
  virtual void write_later(std::function<void(Connection&)> work,
                           std::function<void(std::exception_ptr)> done) = 0;

  // The same for a bulk write, alone in its transaction and without a limit on its duration. `work`
  // returns whether to keep its changes. A driver may fill the table of `filling`, if it is empty,
  // in a way of its own.
  virtual void write_bulk(const std::function<bool(Connection&)>& work, const Filling& filling) = 0;
  void write_bulk(const std::function<bool(Connection&)>& work) { write_bulk(work, {}); }

  // A number that differs from an earlier one of this object if something was committed in between,
  // by whichever process.
  virtual std::int64_t version() = 0;

  // Writes since the database was opened in this process.
  virtual Commits commits() const = 0;

  // Whether a path leads to one of the database's own files; such a file must not be replaced.
  virtual bool owns(const std::string& path) const = 0;

  // Checks the whole database.
  virtual Health health() = 0;

  // A consistent copy in a new file, durable on return; writers go on meanwhile.
  virtual void backup(const std::string& destination) = 0;

  // Ends all reads, bulk writes and waits with unavailable, soon and from now on. Other writes that
  // have begun are ended or finished. For any thread.
  virtual void interrupt() noexcept = 0;
};

}  // namespace comptroller::db
