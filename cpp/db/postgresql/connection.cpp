#include "db/postgresql/connection.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr const char* read_only = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr std::size_t rows_in_pipeline = 200;

std::unique_ptr<Symbols> make_symbols(PostgresqlConnection& connection, SharedSymbols* shared) {
  if (shared == nullptr) return std::make_unique<Symbols>(connection);
  return std::make_unique<PooledSymbols>(connection, *shared);
}

}  // namespace

PostgresqlConnection::PostgresqlConnection(std::unique_ptr<Session> session, SharedSymbols* symbols)
    : Connection(make_symbols(*this, symbols)), session_(std::move(session)) {}

std::vector<Result> PostgresqlConnection::run_all(const std::function<void(Session&)>& add) {
  const std::size_t before = later_.size() + beginning_.size();
  for (const std::string& sql : std::exchange(later_, {})) session_->add_statement(sql);
  for (const std::string& sql : std::exchange(beginning_, {})) session_->add_statement(sql);
  try {
    add(*session_);
  } catch (...) {
    // The transaction is undone; what was sent must not be mistaken for the results of others.
    try {
      session_->run();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the first failure counts
    }
    throw;
  }
  std::vector<Result> results = session_->run();
  results.erase(results.begin(), std::next(results.begin(), static_cast<std::ptrdiff_t>(before)));
  return results;
}

Prepared PostgresqlConnection::prepare(Translation text) {
  Prepared prepared{std::move(text), make_name("s"), {}, {}, {}};
  const Result described = run([&](Session& session) {
    session.add_prepare(prepared.name, prepared.text.sql);
    session.add_describe(prepared.name);
  });
  const Libpq& pq = libpq();
  for (int index = 0; index < pq.count_parameters(described.get()); ++index) {
    prepared.parameter_types.push_back(pq.parameter_type(described.get(), index));
  }
  for (int index = 0; index < pq.count_columns(described.get()); ++index) {
    prepared.column_types.push_back(pq.column_type(described.get(), index));
    prepared.column_names.emplace_back(pq.column_name(described.get(), index));
  }
  return prepared;
}

void PostgresqlConnection::execute(const std::string& sql) {
  run([&](Session& session) { session.add_statement(sql); });
}

std::vector<Insertion> PostgresqlConnection::insert_new(const InsertStatement& statement,
                                                        std::size_t rows, const BindRow& bind,
                                                        std::vector<std::int64_t>& keys) {
  std::vector<Insertion> insertions;
  PostgresqlStatement& insert = statements_.take(statement.sql + " RETURNING key", false);
  Query query(insert);
  while (insertions.size() < rows) {
    const std::size_t end = std::min(rows, insertions.size() + rows_in_pipeline);
    const auto results = run_all([&](Session& session) {
      for (std::size_t row = insertions.size(); row < end; ++row) {
        bind(query, row);
        insert.add_run(session);
      }
    });
    for (const Result& result : results) {
      const auto key = key_of(result);
      insertions.push_back(key ? Insertion::inserted : Insertion::taken);
      if (key) keys.push_back(*key);
    }
  }
  return insertions;
}

void PostgresqlConnection::begin(State state, std::vector<std::string> statements) {
  roll_back();  // of a transaction whose end failed
  state_ = state;
  ++transactions_;
  beginning_ = std::move(statements);
  has_journal_ = false;
}

void PostgresqlConnection::begin_now() {
  run_all([](Session&) {});
}

void PostgresqlConnection::begin_snapshot() {
  begin(State::reading, {read_only});
}

void PostgresqlConnection::begin_snapshot_of(const std::string& exported) {
  begin(State::reading, {read_only, "SET TRANSACTION SNAPSHOT '" + exported + "'"});
}

void PostgresqlConnection::end_snapshot() noexcept {
  roll_back();  // the transaction only read
}

namespace {

std::vector<std::string> begin_writing(std::chrono::milliseconds max_wait, const char* mode) {
  return {"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
          "SET LOCAL lock_timeout = " + std::to_string(max_wait.count()),
          std::string("LOCK TABLE journal_writer IN ") + mode + " MODE"};
}

}  // namespace

// The mode of ordinary writes conflicts with that of bulk writes, not with itself.
void PostgresqlConnection::begin_write(std::chrono::milliseconds max_wait) {
  begin(State::writing, begin_writing(max_wait, "ROW EXCLUSIVE"));
}

void PostgresqlConnection::begin_bulk(std::chrono::milliseconds max_wait) {
  begin(State::writing_alone, begin_writing(max_wait, "SHARE ROW EXCLUSIVE"));
}

void PostgresqlConnection::lock_journal() {
  if (state_ != State::writing || std::exchange(has_journal_, true)) return;
  query("SELECT only_row FROM journal_writer FOR UPDATE").step();
}

void PostgresqlConnection::commit() {
  const bool has_begun = beginning_.empty();
  beginning_.clear();
  if (!has_begun) {
    state_ = State::idle;
    return;
  }
  // COMMIT would undo it without an error.
  if (session_->has_failed()) {
    throw Error(Code::internal, "a write went on after one of its statements had failed");
  }
  session_->add_statement("COMMIT");
  try {
    session_->run(false);
  } catch (const Lost& lost) {
    throw Error(Code::outcome_unknown,
                lost.detail() +
                    "; the write may have been executed: repeat it with the same "
                    "Idempotency-Key, or read the record first");
  }
  state_ = State::idle;
}

void PostgresqlConnection::roll_back() noexcept {
  const bool has_begun = beginning_.empty();
  beginning_.clear();
  if (std::exchange(state_, State::idle) == State::idle || !has_begun) return;
  try {
    if (!session_->is_usable()) return;
    session_->add_statement("ROLLBACK");
    session_->run(false);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the session is not used again
  }
}

}  // namespace comptroller::db::postgresql
