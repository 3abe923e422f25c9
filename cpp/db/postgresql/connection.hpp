// One connection to a PostgreSQL database, and its transactions.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "db/postgresql/session.hpp"
#include "db/postgresql/shared_symbols.hpp"
#include "db/postgresql/statement.hpp"

namespace comptroller::db::postgresql {

class PostgresqlConnection final : public Connection {
 public:
  // `symbols` must outlive the connection; null for a connection that uses no symbols.
  PostgresqlConnection(std::unique_ptr<Session> session, SharedSymbols* symbols);

  Query query(std::string_view sql) override { return Query(statements_.take(sql, false)); }
  Query query_many(std::string_view sql) override { return Query(statements_.take(sql, true)); }
  const Dialect& dialect() const override;
  std::vector<Insertion> insert_new(const InsertStatement& statement, std::size_t rows,
                                    const BindRow& bind, std::vector<std::int64_t>& keys) override;
  void execute(const std::string& sql) override;
  bool locks_rows() const override { return state_ == State::writing; }
  void lock_journal() override;
  std::int64_t content() const override { return 1; }
  void begin_snapshot() override;
  void end_snapshot() noexcept override;
  bool has_readable_views(std::span<const ReadableView>) override { return true; }
  void make_readable_views(std::span<const ReadableView>) override {}

  // Begins a snapshot that sees what an exported one sees.
  void begin_snapshot_of(const std::string& exported);

  // Sends what begins the transaction; otherwise the first statement does.
  void begin_now();

  // Begin a write transaction, which ends with commit or roll_back. A statement waits for locks for
  // at most `max_wait`. The second one runs alone: all others wait until it ends.
  void begin_write(std::chrono::milliseconds max_wait);
  void begin_bulk(std::chrono::milliseconds max_wait);
  // Throws outcome_unknown if the connection is lost meanwhile.
  void commit();
  void roll_back() noexcept;

  bool is_usable() const { return session_->is_usable(); }
  Session& session() { return *session_; }
  // The number of the transaction; 0 outside of one.
  std::uint64_t transaction() const { return state_ == State::idle ? 0 : transactions_; }

  // Runs what `add` adds to the pipeline, after the statements that begin the transaction. Returns
  // the last result.
  Result run(const std::function<void(Session&)>& add) { return std::move(run_all(add).back()); }
  std::vector<Result> run_all(const std::function<void(Session&)>& add);
  // Runs a statement without parameters with the next one.
  void run_later(std::string sql) { later_.push_back(std::move(sql)); }
  std::string make_name(std::string_view prefix) {
    return std::string(prefix) + std::to_string(++names_);
  }
  Prepared prepare(Translation text);
  // Returns an INSERT that returns the key of the row, with the same parameters.
  const Prepared& prepare_returning_key(const Translation& text) {
    return statements_.prepare(text.sql + " RETURNING key");
  }

 private:
  enum class State : std::uint8_t { idle, reading, writing, writing_alone };

  void begin(State state, std::vector<std::string> statements);

  std::unique_ptr<Session> session_;
  State state_ = State::idle;
  std::uint64_t transactions_ = 0;
  std::uint64_t names_ = 0;
  std::vector<std::string> beginning_;  // statements that were not sent yet
  std::vector<std::string> later_;
  bool has_journal_ = false;
  StatementCache statements_{*this};
};

}  // namespace comptroller::db::postgresql
