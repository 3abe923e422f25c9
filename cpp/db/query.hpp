// Statements of a database and their values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

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
// Whether an error is that of a damaged value.
[[gnu::cold]] bool is_of_damage(const Error& error);
// Returns the error of a damaged value with its place in the store.
[[gnu::cold]] Error located(const Error& error, const std::string& place);
// Names a value of a row, for an error message.
std::string place_of(std::string_view table, std::string_view column, std::int64_t key);
// Returns the table after the first FROM of a statement that is not in parentheses.
std::string_view table_of(std::string_view sql);

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
  // Does the same, but may fail only with a later statement or the commit. The bytes of parameters
  // need not live longer than the call.
  virtual void run_later() { run(); }
  // Announces the first step, which follows that of another statement; a driver may send both
  // together.
  virtual void run_with_next() {}
  // Runs an INSERT of one row; returns its key, or nullopt if ON CONFLICT DO NOTHING skipped it.
  virtual std::optional<std::int64_t> insert() { refuse(); }
  // Returns the value of a column, from index 0, of one of the rows of the last step. It is valid
  // until the next step.
  const Value& column(int index, std::size_t row = 0) {
    return values_ != nullptr ? values_[row * width_ + static_cast<std::size_t>(index)]
                              : column_of_row(index);
  }
  // Returns the known ones of table, column and key of a value of the last step, for an error
  // message.
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
  // Does the same for a statement whose result is not needed: a driver may send it with the next
  // one, whose call, or the commit, then throws its failure.
  void run_later() { statement_->run_later(); }
  // Announces the first step of a SELECT, which follows that of another statement; a driver may
  // send both together.
  void run_with_next() { statement_->run_with_next(); }
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
  // place. Others keep their class: after Lost, the caller runs again.
  void locate(int index, std::size_t row, const auto& read) {
    try {
      read();
    } catch (const Error& error) {
      if (!is_of_damage(error)) throw;
      throw located(error, statement_->place_of(index, row));
    }
  }

 private:
  struct Reset {
    void operator()(Statement* statement) const { statement->reset(); }
  };
  std::unique_ptr<Statement, Reset> statement_;
};

// Prepares statements. For one thread at a time.
class Statements {
 public:
  Statements() = default;
  virtual ~Statements() = default;
  Statements(const Statements&) = delete;
  Statements& operator=(const Statements&) = delete;

  // Returns a prepared statement, cached by its text. Several statements of one text can be in use.
  virtual Query query(std::string_view sql) = 0;
  // Does the same for a SELECT that may return many rows, which the driver then reads in parts.
  virtual Query query_many(std::string_view sql) { return query(sql); }
  // Runs a statement with values of the parameters 1, 2, ...; returns Query::run.
  template <class... T>
  std::int64_t run(std::string_view sql, const T&... values) {
    Query statement = query(sql);
    int index = 0;
    (statement.bind(++index, values), ...);
    return statement.run();
  }
};

}  // namespace comptroller::db
