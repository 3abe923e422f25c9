#include "db/postgresql/connection.hpp"

#include <algorithm>
#include <iterator>
#include <unordered_set>
#include <utility>

#include "db/postgresql/migrations.hpp"
#include "db/postgresql/values.hpp"
#include "db/select_list.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr const char* read_only = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY";
constexpr std::size_t runs_ahead = 256;  // that are sent together
constexpr int max_attempts = 5;          // of a row that other writes insert

std::unique_ptr<Symbols> make_symbols(PostgresqlConnection& connection, SharedSymbols* shared) {
  if (shared == nullptr) return std::make_unique<Symbols>(connection);
  return std::make_unique<ConnectionSymbols>(connection, *shared,
                                             [&connection] { connection.take_snapshot(); });
}

// Whether a scan has no expressions, but for columns that are NULL.
bool is_plain(const TableScan& scan) {
  const auto is_column = [](std::string_view text) {
    if (text.starts_with(null_column)) text.remove_prefix(null_column.size());
    return text.find_first_not_of("abcdefghijklmnopqrstuvwxyz_") == std::string_view::npos;
  };
  return std::ranges::all_of(scan.columns, is_column) &&
         std::ranges::all_of(scan.conditions, is_column, &TableScan::Condition::column);
}

[[noreturn]] void throw_wrong_guess() {
  throw Conflict(Code::unavailable, "the store has changed meanwhile; try again");
}

}  // namespace

PostgresqlConnection::PostgresqlConnection(std::unique_ptr<Session> session, SharedSymbols* symbols)
    : Connection(make_symbols(*this, symbols)),
      Channel(std::move(session)),
      connection_symbols_(symbols == nullptr ? nullptr
                                             : static_cast<ConnectionSymbols*>(&this->symbols())) {}

void PostgresqlConnection::expect_server(std::int64_t server) {
  server_ = server;
  if (connection_symbols_ != nullptr) connection_symbols_->expect(server);
}

void PostgresqlConnection::take_snapshot() {
  if (!has_begun()) query("SELECT 1").step();
}

void PostgresqlConnection::execute(const std::string& sql) {
  exchange([&](Session& session) { session.add_statement(sql); });
}

Query PostgresqlConnection::query_list(std::string_view sql, std::span<const Value> values) {
  PostgresqlStatement& statement = statements().take(sql, false);
  Query query(statement);
  statement.bind_list(1, values);
  return query;
}

std::optional<Query> PostgresqlConnection::scan(const TableScan& scan) {
  const bool is_busy = scan_ && scan_->is_in_use();
  if (is_busy || transaction() == 0 || mode_ != Mode::reading || !is_plain(scan)) {
    return std::nullopt;
  }
  PostgresqlStatement& described = statements().take(select_of(scan), false);
  const Query in_use(described);
  return Query(scan_.emplace(*this, scan, described.types_of_columns()));
}

void PostgresqlConnection::read_ahead(std::string_view sql, std::size_t runs,
                                      const ValuesOfRun& values) {
  if (runs < 2 || transaction() == 0 || mode_ != Mode::reading) return;
  PostgresqlStatement& statement = statements().take(sql, false);
  const Query in_use(statement);
  for (std::size_t begin = 0; begin < runs; begin += runs_ahead) {
    const std::size_t end = std::min(runs, begin + runs_ahead);
    std::vector<std::string> names;
    std::vector<Result> results = exchange_all([&](Session& session) {
      for (std::size_t run = begin; run < end; ++run) {
        int index = 0;
        for (const Value& value : values(run)) statement.bind(++index, value);
        statement.add_run(session);
        names.push_back(statement.name_of_run());
      }
    });
    for (std::size_t run = 0; run < names.size(); ++run) {
      statements().keep(std::move(names[run]), std::move(results[run]));
    }
  }
}

std::vector<std::int64_t> PostgresqlConnection::numbers(std::string_view sql) {
  std::vector<std::int64_t>& known = known_numbers_[std::string(sql)];
  if (!may_guess_ || known.empty()) return known = Connection::numbers(sql);
  PostgresqlStatement& statement = statements().take(sql, false);
  const Query in_use(statement);
  has_guessed_ = true;
  add_later([&](Session& session) { statement.add_run(session); },
            [this, &known](const Result& result) {
              std::vector<std::int64_t> found = numbers_of(result);
              if (found == known) {
                has_guessed_ = false;
                return;
              }
              known = std::move(found);
              throw_wrong_guess();
            });
  return known;
}

void PostgresqlConnection::check_guesses() {
  if (has_guessed_) exchange_all([](Session&) {});
  if (has_guessed_) throw_wrong_guess();
}

std::vector<unsigned> PostgresqlConnection::parameter_types(std::string_view sql) {
  PostgresqlStatement& statement = statements().take(sql, false);
  const Query in_use(statement);
  return statement.types();
}

std::vector<std::int64_t> PostgresqlConnection::take_keys(std::string_view table,
                                                          std::size_t count) {
  std::vector<std::int64_t> keys;
  keys.reserve(count);
  // The name of the sequence is looked up once, because it is in a query of its own.
  Query next = query(
      "SELECT nextval((SELECT pg_get_serial_sequence(?, 'key')::regclass))"
      " FROM generate_series(1, ?)");
  next.bind(1, table).bind(2, static_cast<std::int64_t>(count));
  while (next.step()) keys.push_back(next.number(0));
  return keys;
}

std::vector<std::size_t> PostgresqlConnection::not_stored(const InsertStatement& statement,
                                                          std::size_t column,
                                                          const CopiedRows& copied,
                                                          std::span<const std::size_t> rows) {
  const unsigned type = copied.type(column);
  std::vector<Value> ids;
  ids.reserve(rows.size());
  for (const std::size_t row : rows) {
    ids.push_back(decode(copied.value(row, column).substr(length_size), type));
  }
  const std::string name(statement.columns[column]);
  Query query = query_list(
      "SELECT " + name + " FROM " + std::string(statement.table) + " WHERE " + name + " = ANY(?)",
      ids);
  std::unordered_set<std::string> stored;
  while (query.step()) {
    std::string id;
    encode_with_length(query.column(0), type, id);
    stored.insert(std::move(id));
  }
  std::vector<std::size_t> others;
  std::ranges::copy_if(rows, std::back_inserter(others), [&](std::size_t row) {
    return stored.empty() || !stored.contains(std::string(copied.value(row, column)));
  });
  return others;
}

std::vector<std::int64_t> PostgresqlConnection::copy_new(const InsertStatement& statement,
                                                         const CopiedRows& copied,
                                                         std::span<const std::size_t> rows) {
  if (rows.empty()) return {};
  std::vector<std::int64_t> keys = take_keys(statement.table, rows.size());
  std::string columns = "key";
  for (const std::string_view column : statement.columns) columns.append(", ").append(column);
  add_later([](Session& session) { session.add_statement("SAVEPOINT copied"); });
  copy_in("COPY " + std::string(statement.table) + " (" + columns + ") FROM STDIN BINARY",
          copied.data(rows, keys));
  add_later([](Session& session) { session.add_statement("RELEASE SAVEPOINT copied"); });
  return keys;
}

std::vector<Insertion> PostgresqlConnection::insert_new(const InsertStatement& statement,
                                                        std::size_t rows, const BindRow& bind,
                                                        std::vector<std::int64_t>& keys) {
  const auto column = static_cast<std::size_t>(std::ranges::find(statement.columns, "id") -
                                               statement.columns.begin());
  if (column == statement.columns.size()) throw Error(Code::internal, "rows without an id");
  CopiedRows copied(parameter_types(statement.sql));
  {
    Query query(copied);
    for (std::size_t row = 0; row < rows; ++row) bind(query, row);
  }
  // A row whose id an earlier one has is taken.
  std::vector<Insertion> insertions(rows, Insertion::taken);
  std::unordered_set<std::string_view> ids;
  std::vector<std::size_t> with_new_id;
  for (std::size_t row = 0; row < rows; ++row) {
    if (ids.insert(copied.value(row, column)).second) with_new_id.push_back(row);
  }
  // Other writes may insert the same ids meanwhile. What was copied is safe from them, so fewer
  // rows at once come to an end.
  std::size_t at_once = rows;
  int attempt = 1;
  for (std::span<const std::size_t> left = with_new_id; !left.empty();) {
    const auto some = left.first(std::min(at_once, left.size()));
    const std::vector<std::size_t> inserted = not_stored(statement, column, copied, some);
    try {
      std::ranges::copy(copy_new(statement, copied, inserted), std::back_inserter(keys));
    } catch (const Conflict&) {
      if (at_once == 1 && attempt++ == max_attempts) throw;
      execute("ROLLBACK TO SAVEPOINT copied");
      at_once = std::max<std::size_t>(at_once / 4, 1);
      continue;
    }
    for (const std::size_t row : inserted) insertions[row] = Insertion::inserted;
    left = left.subspan(some.size());
    at_once *= 2;
    attempt = 1;
  }
  return insertions;
}

// A recovery keeps the start of the process, and resets all statistics. Those of two views are
// reset together only then. Before PostgreSQL 15 they come from a file, late.
std::string PostgresqlConnection::start_of_server() {
  constexpr int with_shared_statistics = 150000;
  const std::string recovery =
      "(SELECT least(b.stats_reset, a.stats_reset) FROM pg_stat_bgwriter b, pg_stat_archiver a)";
  return "(extract(epoch FROM greatest(pg_postmaster_start_time()" +
         (session().server_version() < with_shared_statistics ? std::string() : ", " + recovery) +
         ")) * 1000000)::bigint";
}

void PostgresqlConnection::begin_with(Mode mode, std::vector<std::string> statements) {
  if (mode != Mode::reading) std::ranges::copy(settings_of_writes_, std::back_inserter(statements));
  begin(std::move(statements));
  mode_ = mode;
  has_journal_ = false;
  may_guess_ = false;
  has_guessed_ = false;
  is_request_ = false;
  forget_snapshot();
  if (connection_symbols_ != nullptr) connection_symbols_->begin_transaction(mode == Mode::reading);
  // A pooler keeps the connection when it follows a failover.
  if (is_behind_pooler() && server_ != 0) run_in_transaction(check_of_server());
}

// Returns a statement that fails on another server.
std::string PostgresqlConnection::check_of_server() {
  return "SELECT 1 / (" + start_of_server() + " = " + std::to_string(server_) + ")::int";
}

namespace {

// Returns the statement of a setting: of a row with its name and its value.
std::string set_local(Query& setting) {
  std::string statement = "SET LOCAL ";
  statement.append(setting.column(0).bytes).append(" = '");
  return statement.append(setting.column(1).bytes).append("'");
}

}  // namespace

// The best plan for few rows is the one that visits the fewest: it never reads a whole table, nor
// in the order of another index because the rows of that are beside each other in the file.
// The settings are those of the session, so that requests need no statement for them, or, behind a
// pooler, where other programs use the session, too, those of each transaction.
void PostgresqlConnection::prefer_requests() {
  Query settings = query(
      "SELECT name, set_config(name, CASE name WHEN 'statement_timeout'"
      " THEN coalesce(nullif(current_setting('comptroller.read_timeout', true), ''), value)"
      " ELSE value END, ? <> 0)"
      " FROM (VALUES ('statement_timeout', '30s'), ('seq_page_cost', '0'),"
      " ('random_page_cost', '0'), ('enable_seqscan', 'off'), ('enable_bitmapscan', 'off'),"
      " ('jit', 'off')) AS wanted (name, value) WHERE current_setting(name, true) IS NOT NULL");
  settings.bind(1, std::int64_t{is_behind_pooler()});
  while (settings.step()) {
    if (is_behind_pooler()) {
      settings_of_requests_.push_back(set_local(settings));
    } else {
      const std::string name(settings.column(0).bytes);
      settings_of_server_.push_back("SET LOCAL " + name + " TO DEFAULT");
    }
  }
}

// Behind a pooler, whose connection to the server other programs use, too, those that a write needs
// are set in each of its transactions.
void PostgresqlConnection::set_up(bool is_writer) {
  const bool is_pooled = is_behind_pooler();
  // `replaced` is the default value of the session that may be replaced; null if any may.
  Query settings = query(
      "SELECT name, value, CASE WHEN ?1 = 0 THEN set_config(name, value, false) END"
      " FROM (VALUES ('enable_seqscan', 'off', true, NULL), ('jit', 'off', true, NULL),"
      " ('synchronous_commit', 'on', true, 'off'),"
      " ('idle_in_transaction_session_timeout', '60s', ?2 <> 0, '0'),"
      " ('tcp_keepalives_idle', '30', ?1 = 0, '0'), ('tcp_keepalives_interval', '10', ?1 = 0, '0'),"
      " ('tcp_keepalives_count', '3', ?1 = 0, '0'), ('tcp_user_timeout', '60s', ?1 = 0, '0'))"
      " AS wanted (name, value, applies, replaced) JOIN pg_settings USING (name)"
      " WHERE applies AND coalesce(replaced = reset_val, true)");
  settings.bind(1, std::int64_t{is_pooled});
  settings.bind(2, std::int64_t{is_writer});
  while (settings.step()) {
    if (is_pooled) settings_of_writes_.push_back(set_local(settings));
  }
}

void PostgresqlConnection::limit_statements(std::chrono::milliseconds max_wait) {
  const auto settings = [&](const char* is_local) {
    return "SELECT set_config('lock_timeout', '" + std::to_string(max_wait.count()) + "', " +
           is_local + "), set_config('statement_timeout', '" +
           std::to_string(2 * max_wait.count()) + "', " + is_local + ")";
  };
  if (!is_behind_pooler()) return execute(settings("false"));
  run_before_requests(settings("true"));
  if (server_ != 0) run_before_requests(check_of_server());
}

void PostgresqlConnection::begin_snapshot() {
  begin_with(Mode::reading, {read_only});
  for (const std::string& setting : settings_of_server_) run_in_transaction(setting);
}

// Begins the transaction anew, with the settings for requests.
void PostgresqlConnection::begin_request() {
  if (has_begun()) throw Error(Code::internal, "a snapshot for a request has already read");
  begin_with(Mode::reading, {read_only});
  is_request_ = true;
  for (const std::string& setting : settings_of_requests_) run_in_transaction(setting);
}

void PostgresqlConnection::begin_snapshot_of(const std::string& exported) {
  begin_with(Mode::reading, {read_only, "SET TRANSACTION SNAPSHOT '" + exported + "'"});
  for (const std::string& setting : settings_of_server_) run_in_transaction(setting);
}

void PostgresqlConnection::forget_snapshot() noexcept {
  statements_.forget_kept();
  statements_of_requests_.forget_kept();
  if (connection_symbols_ != nullptr) connection_symbols_->begin_transaction(false);
}

void PostgresqlConnection::end_snapshot() noexcept {
  forget_snapshot();
  roll_back();  // the transaction only read
}

namespace {

std::vector<std::string> begin_writing(std::chrono::milliseconds max_wait, const char* lock) {
  return {"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
          "SET LOCAL lock_timeout = " + std::to_string(max_wait.count()),
          "LOCK TABLE " + writer_lock() + " IN " + lock};
}

// A bulk write may wait long for its lines: it has the limit of the role or the database.
constexpr const char* no_idle_limit = "SET LOCAL idle_in_transaction_session_timeout TO DEFAULT";

}  // namespace

// The mode of ordinary writes conflicts with that of writes alone, not with itself. That of joined
// bulk writes conflicts with itself and with that of writes alone.
void PostgresqlConnection::begin_write(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing, begin_writing(max_wait, "ROW EXCLUSIVE MODE"));
}

bool PostgresqlConnection::begin_write_unless_bulk(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing, begin_writing(max_wait, "ROW EXCLUSIVE MODE NOWAIT"));
  try {
    begin_now();
    return true;
  } catch (const Locked&) {
    roll_back();
    return false;
  }
}

void PostgresqlConnection::begin_bulk(std::chrono::milliseconds max_wait, bool is_hasty) {
  auto statements = begin_writing(max_wait, "SHARE ROW EXCLUSIVE MODE");
  if (is_hasty) {  // the mode of joined bulk writes, which ordinary writes permit
    const std::string probe = "LOCK TABLE " + writer_lock() + " IN SHARE UPDATE EXCLUSIVE MODE";
    statements.insert(std::prev(statements.end()), probe + " NOWAIT");
  }
  begin_with(Mode::writing_alone, std::move(statements));
  run_in_transaction(no_idle_limit);
}

JournalLock PostgresqlConnection::lock_journal(bool waits) {
  if (has_journal_) return JournalLock::held;
  if (locks_rows()) {
    const std::string sql = "SELECT only_row FROM " + writer_lock() + " FOR UPDATE";
    Query row = query(waits ? sql : sql + " SKIP LOCKED");
    if (!row.step()) return JournalLock::busy;
  }
  has_journal_ = true;
  return JournalLock::taken;
}

void PostgresqlConnection::begin_joined_bulk(std::chrono::milliseconds max_wait) {
  begin_with(Mode::writing, begin_writing(max_wait, "SHARE UPDATE EXCLUSIVE MODE"));
  run_in_transaction(no_idle_limit);
}

}  // namespace comptroller::db::postgresql
