#include "db/postgresql/connection.hpp"

#include <algorithm>
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
    : Connection(make_symbols(*this, symbols)), Channel(std::move(session)) {}

void PostgresqlConnection::execute(const std::string& sql) {
  exchange([&](Session& session) { session.add_statement(sql); });
}

std::vector<Insertion> PostgresqlConnection::insert_new(const InsertStatement& statement,
                                                        std::size_t rows, const BindRow& bind,
                                                        std::vector<std::int64_t>& keys) {
  std::vector<Insertion> insertions;
  PostgresqlStatement& insert = statements_.take(statement.sql + " RETURNING key", false);
  Query query(insert);
  while (insertions.size() < rows) {
    const std::size_t end = std::min(rows, insertions.size() + rows_in_pipeline);
    const auto results = exchange_all([&](Session& session) {
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

void PostgresqlConnection::begin_with(Mode mode, std::vector<std::string> statements) {
  begin(std::move(statements));
  mode_ = mode;
  has_journal_ = false;
}

void PostgresqlConnection::begin_snapshot() {
  begin_with(Mode::reading, {read_only});
}

void PostgresqlConnection::begin_snapshot_of(const std::string& exported) {
  begin_with(Mode::reading, {read_only, "SET TRANSACTION SNAPSHOT '" + exported + "'"});
}

void PostgresqlConnection::end_snapshot() noexcept {
  roll_back();  // the transaction only read
}

namespace {

std::vector<std::string> begin_writing(std::chrono::milliseconds max_wait, const char* lock) {
  return {"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
          "SET LOCAL lock_timeout = " + std::to_string(max_wait.count()),
          std::string("LOCK TABLE journal_writer IN ") + lock};
}

}  // namespace

// The mode of ordinary writes conflicts with that of bulk writes, not with itself.
void PostgresqlConnection::begin_write(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing, begin_writing(max_wait, "ROW EXCLUSIVE MODE"));
}

bool PostgresqlConnection::begin_write_unless_bulk(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing, begin_writing(max_wait, "ROW EXCLUSIVE MODE NOWAIT"));
  try {
    begin_now();
    return true;
  } catch (const Lost&) {
    throw;
  } catch (const Error& error) {
    if (error.code() != Code::unavailable) throw;
    roll_back();
    return false;
  }
}

void PostgresqlConnection::begin_bulk(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing_alone, begin_writing(max_wait, "SHARE ROW EXCLUSIVE MODE"));
}

JournalLock PostgresqlConnection::lock_journal(bool waits) {
  if (has_journal_) return JournalLock::held;
  if (locks_rows()) {
    Query row = query(waits ? "SELECT only_row FROM journal_writer FOR UPDATE"
                            : "SELECT only_row FROM journal_writer FOR UPDATE SKIP LOCKED");
    if (!row.step()) return JournalLock::busy;
  }
  has_journal_ = true;
  return JournalLock::taken;
}

}  // namespace comptroller::db::postgresql
