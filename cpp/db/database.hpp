// The seam under the store: connections, statements and transactions of an SQL database.
// Repositories are written against this page alone. Failures of the database are Errors with code
// unavailable.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/symbols.hpp"

namespace comptroller::db {

// One value of a column or a parameter. Bytes belong to someone else: those of a column to the
// statement until its next step, those of a parameter to the caller until the statement is reset.
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

// What a database's own statement does for a Query.
class Statement {
 public:
  virtual ~Statement() = default;
  virtual void bind(int index, const Value& value) = 0;              // index from 1
  virtual void bind(std::string_view name, const Value& value) = 0;  // as written: "$name"
  virtual bool step() = 0;                                           // whether there is a row
  virtual std::int64_t run() = 0;       // to the end; the rows inserted, updated or deleted
  virtual Value column(int index) = 0;  // index from 0
  virtual void reset() = 0;  // ends the run, forgets the parameters; it is free for others
};

// A prepared statement in use. It goes back to its connection, reset, at the end of the scope.
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
  // Runs a statement that gives no rows; returns how many it inserted, updated or deleted.
  std::int64_t run() { return statement_->run(); }
  Value column(int index) { return statement_->column(index); }

 private:
  struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
  };
  std::unique_ptr<Statement, Reset> statement_;
};

// For one thread at a time.
class Connection {
 public:
  Connection() : symbols_(*this) {}
  virtual ~Connection() = default;
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // A prepared statement, kept for the next time. The same text may not be in use already.
  virtual Query query(std::string_view sql) = 0;
  // Runs a statement once for each row, in order; `bind` binds the row's parameters, which must
  // live until it is called again. Gives of each row whether the statement changed anything. A
  // driver may send many rows together.
  using BindRow = std::function<void(Query& query, std::size_t row)>;
  virtual std::vector<bool> run_for_each(std::string_view sql, std::size_t rows,
                                         const BindRow& bind) {
    std::vector<bool> are_changed(rows);
    for (std::size_t row = 0; row < rows; ++row) {
      Query run = query(sql);
      bind(run, row);
      are_changed[row] = run.run() > 0;
    }
    return are_changed;
  }
  // Runs statements that take no parameters.
  virtual void execute(const std::string& sql) = 0;

  Symbols& symbols() { return symbols_; }

 private:
  Symbols symbols_;
};

// A read transaction: all its statements see one moment.
class Snapshot {
 public:
  explicit Snapshot(Connection& connection) : connection_(connection) {
    connection_.query("BEGIN").run();
  }
  ~Snapshot() {
    try {
      connection_.query("COMMIT").run();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): a read has nothing to lose
    }
  }
  Snapshot(const Snapshot&) = delete;
  Snapshot& operator=(const Snapshot&) = delete;

 private:
  Connection& connection_;
};

// A connection on loan; given back at the end of the scope.
using Lease = std::unique_ptr<Connection, std::function<void(Connection*)>>;

// What can be told of a database's soundness, below the level of records.
struct Health {
  std::string engine;                 // name and version
  std::vector<std::string> copies;    // of the engine's library in this process; one is right
  std::vector<std::string> findings;  // what the engine's own check found; none is right
};

// What was committed so far, without work in bulk.
struct Commits {
  // How many commits there were of 1 write, of 2, of up to 4, and so on: twice as many each time.
  std::array<std::uint64_t, 9> by_size{};
  std::uint64_t writes = 0;  // of all of them
};

// One database, used by many threads; other processes may have it open as well.
class Database {
 public:
  virtual ~Database() = default;

  // A connection that reads, for the caller alone.
  virtual Lease reader() = 0;
  // Several that see the same moment, each inside a snapshot begun for the caller.
  virtual std::vector<Lease> readers_of_one_moment(std::size_t count) = 0;

  virtual bool is_writable() const = 0;

  // Runs `work` in a transaction, possibly together with that of other threads, and returns when it
  // is durable. What `work` throws undoes what it did, alone, and is thrown here. Throws
  // unavailable when the writer does not get free for 30 s or the commit fails; nothing is kept
  // then.
  virtual void write(const std::function<void(Connection&)>& work) = 0;

  // The same for work in bulk, alone in its transaction, with the log folded into the file after
  // it. `work` returns whether to keep what it did.
  virtual void write_bulk(const std::function<bool(Connection&)>& work) = 0;

  // What `write` committed since the database was opened here.
  virtual Commits commits() const = 0;

  // Whether a path leads to one of the database's own files, which nothing else may be written to.
  virtual bool owns(const std::string& path) const = 0;

  // Reads the whole database.
  virtual Health health() = 0;

  // A consistent copy in a new file, durable on return; writers go on meanwhile.
  virtual void backup(const std::string& destination) = 0;
};

}  // namespace comptroller::db
