#include "db/postgresql/database.hpp"

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <iterator>
#include <limits>
#include <optional>

#include "db/postgresql/failures.hpp"
#include "db/postgresql/pool.hpp"
#include "db/postgresql/schema.hpp"
#include "db/postgresql/writers.hpp"
#include "db/writing.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

// Either clock can be set while a connection is kept.
constexpr std::chrono::seconds max_age_of_clock{60};

// Returns the rows that the connection inserted into a table and the server has not yet counted:
// those of the transaction, and perhaps of some before it.
std::int64_t inserted_rows(Connection& connection, std::string_view table) {
  Query query = connection.query(
      "SELECT n_tup_ins FROM pg_stat_xact_user_tables WHERE relid = to_regclass(?)");
  return query.bind(1, table).step() ? query.number(0) : 0;
}

// Whether so many rows are many of a table's. Lists would then sort the table until the server
// collects its statistics, which it does after some time.
bool are_many(Connection& connection, std::string_view table, std::int64_t rows) {
  Query query = connection.query(
      "SELECT ?::bigint * 10 >= reltuples FROM pg_class WHERE oid = to_regclass(?)");
  return query.bind(1, rows).bind(2, table).step() && query.number(0) != 0;
}

// Throws unless a pooler has passed on the search path that the address asks for: the store would
// be that of another schema.
void check_search_path(const std::string& options, std::string_view search_path) {
  constexpr std::string_view name = "search_path=";
  const std::size_t named = options.rfind(name);
  if (named == std::string::npos) return;
  const std::string_view rest = std::string_view(options).substr(named + name.size());
  const auto plain = [](std::string_view path) {
    std::string text;
    std::ranges::copy_if(path, std::back_inserter(text),
                         [](char each) { return each != ' ' && each != '"' && each != '\\'; });
    return text;
  };
  std::size_t end = 0;
  while (end < rest.size() && (rest[end] != ' ' || end == 0 || rest[end - 1] == '\\')) ++end;
  if (plain(rest.substr(0, end)) == plain(search_path)) return;
  throw Error(Code::unusable,
              "the pooler does not pass on the search_path of the address; give it "
              "to the user by ALTER ROLE, and leave it out");
}

// One bulk write, in the database itself.
class PostgresqlFill final : public Fill {
 public:
  PostgresqlFill(Writers& writers, Pool::Connect connect_alone, const Filling& filling)
      : writers_(writers), connect_alone_(std::move(connect_alone)), filling_(filling) {}

  Connection* begin() override { return nullptr; }
  bool write(const Work& work) override {
    try {
      writers_.write_bulk(filling_, connect_alone_, [&](Connection& connection) {
        const std::string table(filling_.table);
        if (table.empty()) return work(connection, nullptr);
        const std::int64_t before = inserted_rows(connection, table);
        if (!work(connection, nullptr)) return false;
        const std::int64_t inserted = inserted_rows(connection, table) - before;
        // Not beside a VACUUM, which would hold up the load, and end it after the time limit.
        if (are_many(connection, table, inserted)) {
          connection.execute("ANALYZE (SKIP_LOCKED) " + table);
        }
        return true;
      });
      return true;
    } catch (const Conflict&) {
      if (!filling_.may_be_joined) throw;
      return false;
    }
  }
  void finish() override {}

 private:
  Writers& writers_;
  Pool::Connect connect_alone_;
  Filling filling_;
};

class PostgresqlDatabase final : public Database {
 public:
  PostgresqlDatabase(std::string address, const OpenOptions& options);
  ~PostgresqlDatabase() override {
    if (writers_) writers_->end();  // their work may call this object
  }
  PostgresqlDatabase(const PostgresqlDatabase&) = delete;
  PostgresqlDatabase& operator=(const PostgresqlDatabase&) = delete;

  Lease reader() override { return readers_.lend(Deadline::max()); }
  std::vector<Lease> readers_of_one_snapshot(std::size_t count) override;
  bool is_writable() const override { return writers_.has_value(); }
  void check_may_write() override;
  void write(const std::function<void(Connection&)>& work) override { writers().write(work); }
  bool write_unless_bulk(const std::function<void(Connection&)>& work) override {
    return writers().write_unless_bulk(work);
  }
  void write_later(std::function<void(Connection&)> work,
                   std::function<void(std::exception_ptr)> done) override {
    writers().write_later(std::move(work), std::move(done));
  }
  std::unique_ptr<Fill> fill(const Filling& filling) override {
    return std::make_unique<PostgresqlFill>(
        writers(), [this] { return connect(nullptr); }, filling);
  }
  std::int64_t version() override;
  Commits commits() const override { return writers_ ? writers_->commits() : Commits{}; }
  LogSize log_size() override { return {}; }
  std::function<std::int64_t()> clock_offset() const override {
    return [offset = clock_offset_] { return offset->load(); };
  }
  std::string folder() const override { return std::filesystem::temp_directory_path().string(); }
  bool owns(const std::string&) const override { return false; }
  Health health() override;
  void backup(const std::string& destination, const Observe& observe) override;
  void interrupt() noexcept override { interrupt_.close(); }

 private:
  std::unique_ptr<PostgresqlConnection> connect(SharedSymbols* symbols, bool is_writer = false);
  std::unique_ptr<PostgresqlConnection> connect_reader();
  std::int64_t learn_server(PostgresqlConnection& connection);
  void check_clock(PostgresqlConnection& connection);
  Writers& writers();

  std::string address_;
  OpenOptions options_;
  Interrupt interrupt_;
  std::shared_ptr<std::atomic<std::int64_t>> clock_offset_;
  std::atomic<Deadline> clock_expires_;
  bool is_store_ = false;  // whether the schema was checked once
  SharedSymbols symbols_;  // destroyed after all connections that use it
  Pool readers_;
  std::optional<Writers> writers_;
};

PostgresqlDatabase::PostgresqlDatabase(std::string address, const OpenOptions& options)
    : address_(std::move(address)),
      options_(options),
      interrupt_(options.check_interrupt),
      clock_offset_(std::make_shared<std::atomic<std::int64_t>>(0)),
      symbols_(
          [this] {
            auto connection = connect(nullptr);
            connection->limit_statements(options_.max_wait);
            const std::int64_t server = connection->server();
            return std::pair(std::move(connection), server);
          },
          interrupt_, options.max_wait),
      readers_([this] { return connect_reader(); },
               [this](PostgresqlConnection& connection) { check_clock(connection); },
               std::numeric_limits<std::size_t>::max(), interrupt_) {
  {
    const auto first = connect(nullptr);
    options_.read_only ? require_newest_schema(*first) : migrate(*first);
    is_store_ = true;
    symbols_.follow(learn_server(*first));
  }
  symbols_.fill();
  if (options_.read_only) return;
  writers_.emplace([this] { return connect(&symbols_, true); },
                   [this](PostgresqlConnection& connection) { check_clock(connection); },
                   interrupt_, options_.max_wait);
}

std::unique_ptr<PostgresqlConnection> PostgresqlDatabase::connect(SharedSymbols* symbols,
                                                                  bool is_writer) {
  auto connection = std::make_unique<PostgresqlConnection>(
      std::make_unique<Session>(address_, options_.read_only, interrupt_), symbols);
  const std::int64_t server = learn_server(*connection);
  connection->set_up(is_writer);
  if (is_store_) check_version(*connection);
  if (symbols != nullptr) symbols->follow(server);
  connection->expect_server(server);
  return connection;
}

std::unique_ptr<PostgresqlConnection> PostgresqlDatabase::connect_reader() {
  auto connection = connect(&symbols_);
  connection->prefer_requests();
  return connection;
}

// Learns the clock of the server, and whether it is behind a pooler; returns when the server
// started or recovered, which identifies it. The request takes half of the round trip.
std::int64_t PostgresqlDatabase::learn_server(PostgresqlConnection& connection) {
  using std::chrono::duration_cast;
  using std::chrono::microseconds;
  using std::chrono::system_clock;
  Query query = connection.query(
      std::string("SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint,"
                  " pg_backend_pid()::bigint, ") +
      connection.start_of_server() + ", current_setting('search_path')");
  const auto now = [] {
    return duration_cast<microseconds>(system_clock::now().time_since_epoch()).count();
  };
  const std::int64_t before = now();
  query.step();
  const std::int64_t after = now();
  const std::int64_t theirs = query.number(0);
  if (query.number(1) != connection.session().process_of_server()) {
    connection.set_behind_pooler();
    check_search_path(connection.session().option("options"), query.column(3).bytes);
  }
  // Within the time of the round trip, the two clocks cannot be told apart.
  const bool are_equal = before <= theirs && theirs <= after;
  *clock_offset_ = are_equal ? 0 : theirs - (before + after) / 2;
  clock_expires_ = Clock::now() + max_age_of_clock;
  return query.number(2);
}

void PostgresqlDatabase::check_clock(PostgresqlConnection& connection) {
  if (Clock::now() >= clock_expires_.load()) learn_server(connection);
}

Writers& PostgresqlDatabase::writers() {
  if (writers_) return *writers_;
  throw Error(Code::read_only, "the store was opened read-only");
}

void PostgresqlDatabase::check_may_write() {
  Writing::refuse(&writers());
}

std::vector<Lease> PostgresqlDatabase::readers_of_one_snapshot(std::size_t count) {
  std::vector<Lease> leases;
  while (leases.size() < count) leases.push_back(reader());
  // Those of another server, if the address has several, see other snapshots. One suffices.
  const auto is_elsewhere = [](const Lease& lease) {
    return !static_cast<PostgresqlConnection&>(*lease).is_of_current_server();
  };
  std::erase_if(leases, is_elsewhere);
  if (leases.empty()) throw_replaced();
  leases.front()->begin_snapshot();
  if (leases.size() == 1) return leases;
  Query exported = leases.front()->query("SELECT pg_export_snapshot()");
  exported.step();
  const std::string snapshot(exported.column(0).bytes);
  for (std::size_t index = 1; index < leases.size(); ++index) {
    auto& connection = static_cast<PostgresqlConnection&>(*leases[index]);
    connection.begin_snapshot_of(snapshot);
    connection.begin_now();
  }
  return leases;
}

std::int64_t PostgresqlDatabase::version() {
  const Lease connection = reader();
  // After a failover, snapshots of other content have the same text. So have those of a standby,
  // which do not name the writes that run.
  Query snapshot = connection->query(
      "SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn()::text"
      " ELSE pg_current_snapshot()::text END || ' ' || " +
      static_cast<PostgresqlConnection&>(*connection).start_of_server());
  snapshot.step();
  return static_cast<std::int64_t>(std::hash<std::string_view>{}(snapshot.column(0).bytes));
}

Health PostgresqlDatabase::health() {
  const Lease connection = reader();
  const Session& session = static_cast<PostgresqlConnection&>(*connection).session();
  return {"PostgreSQL " + session.parameter("server_version"), {}, {}};
}

void PostgresqlDatabase::backup(const std::string&, const Observe&) {
  throw Error(
      Code::unsupported,
      "backup copies files only; use pg_dump or the backup of the server, or copy the store "
      "into a file with `comptroller copy`");
}

}  // namespace

bool is_address(std::string_view text) {
  return text.starts_with("postgresql://") || text.starts_with("postgres://");
}

std::unique_ptr<Database> open(const std::string& address, const OpenOptions& options) {
  return std::make_unique<PostgresqlDatabase>(address, options);
}

}  // namespace comptroller::db::postgresql
