#include "db/sqlite/database.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <system_error>
#include <tuple>

#include "db/sqlite/backup.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/fill.hpp"
#include "db/sqlite/lock_file.hpp"
#include "db/sqlite/open_file.hpp"
#include "db/sqlite/parallel_task.hpp"
#include "db/sqlite/readers.hpp"
#include "db/sqlite/schema.hpp"
#include "db/sqlite/value_types.hpp"
#include "db/sqlite/writer.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::seconds max_wait_to_open{30};
constexpr int cache_kib_of_writer = 65536;
constexpr int max_attempts = 20;  // to begin snapshots of one state

Deadline deadline_to_open() {
  return Clock::now() + max_wait_to_open;
}

SqliteConnection& sqlite(Connection& connection) {
  return static_cast<SqliteConnection&>(connection);
}

// Whether tables are read and filled only with SQL, not by their pages (sqlite_format).
bool is_only_sql() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): comptroller never changes the environment
  const char* value = std::getenv("COMPTROLLER_ONLY_SQL");
  return value != nullptr && std::string_view(value) == "1";
}

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::unique_ptr<OpenFile> file, const OpenOptions& options);
  ~SqliteDatabase() override;

  Lease reader() override { return readers_.lend(); }
  std::vector<Lease> readers_of_one_snapshot(std::size_t count) override;
  bool is_writable() const override { return writer_ != nullptr; }
  void check_may_write() override { Writing::refuse(&writer()); }
  void write(const std::function<void(Connection&)>& work) override { writer().write(work); }
  void write_later(std::function<void(Connection&)> work,
                   std::function<void(std::exception_ptr)> done) override {
    writer().write_later(std::move(work), std::move(done));
  }
  std::unique_ptr<Fill> fill(const Filling& filling) override {
    const WriteParts parts{writer(), *write_connection_, *file_, interrupt_};
    return std::make_unique<SqliteFill>(parts, filling, is_only_sql_);
  }
  Commits commits() const override { return writer_ ? writer_->commits() : Commits{}; }
  std::int64_t version() override;
  LogSize log_size() override;
  std::string folder() const override { return filesystem::path(path_).parent_path().string(); }
  bool owns(const std::string& path) const override { return find_open_file(path).has_value(); }
  Health health() override;
  void backup(const std::string& destination, const Observe& observe) override;
  void interrupt() noexcept override { interrupt_.close(); }

 private:
  void open_writer(std::optional<LockGuard>& opening, std::optional<LockGuard>& migrating);
  void require_present_schema(SqliteConnection& connection) const;
  Writer& writer() {
    if (writer_) return *writer_;
    throw Error(Code::read_only, "the store was opened read-only");
  }

  std::unique_ptr<OpenFile> file_;  // destroyed after all connections
  std::string path_;
  OpenOptions options_;
  Interrupt interrupt_;
  bool is_only_sql_;
  bool was_locked_before_;  // whether a process has opened this path for writing
  LockFile write_lock_;
  LockFile opening_lock_;
  std::unique_ptr<SqliteConnection> write_connection_;
  std::unique_ptr<Writer> writer_;
  Readers readers_;
  std::mutex watching_;
  std::optional<Lease> watch_;  // detects commits of other connections
  std::int64_t opening_of_watch_ = 0;
};

SqliteDatabase::SqliteDatabase(std::unique_ptr<OpenFile> file, const OpenOptions& options)
    : file_(std::move(file)),
      path_(file_->path()),
      options_(options),
      interrupt_(options.check_interrupt),
      is_only_sql_(is_only_sql()),
      was_locked_before_(filesystem::exists(path_ + "-lock")),
      write_lock_(path_, LockFile::Purpose::write, options.read_only),
      opening_lock_(path_, LockFile::Purpose::opening, options.read_only),
      readers_(*file_, options.read_only, is_only_sql_, interrupt_) {
  std::optional<LockGuard> migrating;
  std::optional<LockGuard> opening;
  opening.emplace(opening_lock_, deadline_to_open(), &interrupt_);
  refuse_without_log(path_, was_locked_before_);
  if (!options_.read_only) open_writer(opening, migrating);
  // One connection stays open, so that the log and its index are not removed while they are in use.
  const Lease first = readers_.lend();
  if (options_.read_only) require_present_schema(sqlite(*first));
}

void SqliteDatabase::require_present_schema(SqliteConnection& connection) const {
  const int version = schema_version(connection, path_);
  if (version == newest_schema_version()) return;
  if (version == 0 && is_empty(connection)) {
    throw Error(
        Code::unusable,
        path_ + " is empty; if it should be a copy, copy the store with `comptroller backup`");
  }
  throw Error(Code::unusable, path_ +
                                  " has an older schema; open it for writing once, or run "
                                  "`comptroller migrate`");
}

// Holds `opening` on entry and on return. Waits for a load of another process only if a migration
// is needed.
void SqliteDatabase::open_writer(std::optional<LockGuard>& opening,
                                 std::optional<LockGuard>& migrating) {
  write_connection_ =
      std::make_unique<SqliteConnection>(path_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  file_->identify();  // it exists now
  SqliteConnection& connection = *write_connection_;
  const bool is_older = schema_version(connection, path_) < newest_schema_version();
  if (is_older) {
    opening.reset();
    migrating.emplace(write_lock_, deadline_to_open(), &interrupt_);
    opening.emplace(opening_lock_, deadline_to_open(), &interrupt_);
  }
  const std::string private_file = path_ + private_copy_suffix;
  if (is_older) {
    // If the creation of the store ends here, refuse_without_log knows by this file that it is no
    // copy. It is on disk before the database: SQLite synchronises the folder for its journal.
    ::close(::open(private_file.c_str(), O_RDONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600));
  }
  use_write_ahead_log(connection, path_);
  if (is_older) {
    migrate(connection, path_);
    ::unlink(private_file.c_str());
  } else {
    // Removes what a killed bulk write may have left.
    const LockGuard cleaning(write_lock_, std::try_to_lock);
    if (cleaning.is_held()) ::unlink(private_file.c_str());
    connection.check_log();
  }
  connection.check_content(&require_newest_schema);
  connection.commit_durably();
  connection.execute("PRAGMA threads = 2");
  // A log that a reader has let grow is cut when it begins again.
  connection.execute("PRAGMA journal_size_limit = " + std::to_string(large_log));
  connection.execute("PRAGMA cache_size = -" + std::to_string(cache_kib_of_writer));
  writer_ =
      std::make_unique<Writer>(connection, *file_, write_lock_, interrupt_, options_.max_wait);
}

SqliteDatabase::~SqliteDatabase() {
  writer_.reset();
  try {
    const LockGuard closing(opening_lock_, deadline_to_open());
    watch_.reset();
    readers_.close();
    // The last connection to close checkpoints, unless another process is writing, which then
    // closes later.
    const LockGuard writing(write_lock_, std::try_to_lock);
    if (write_connection_ && !writing.is_held()) write_connection_->keep_log();
    // SQLite would leave the log to the file that now has the path.
    if (write_connection_ && writing.is_held() && !file_->has_place()) {
      std::ignore = write_connection_->truncate_log();
    }
    write_connection_.reset();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): destructors close the members
  }
  if (!options_.is_temporary) return;
  for (const char* suffix : file_suffixes) {
    try {
      std::error_code ignored;
      filesystem::remove(path_ + suffix, ignored);
    } catch (const std::bad_alloc&) {  // NOLINT(bugprone-empty-catch): the file stays
    }
  }
}

std::int64_t SqliteDatabase::version() {
  const std::lock_guard lock(watching_);
  const std::int64_t opening = readers_.opening();
  if (!watch_ || opening != opening_of_watch_) watch_.emplace(readers_.lend());
  opening_of_watch_ = opening;
  return opening << 32U | sqlite(**watch_).read_number("PRAGMA data_version");
}

LogSize SqliteDatabase::log_size() {
  const Lease lease = readers_.lend();
  SqliteConnection& connection = sqlite(*lease);
  connection.read_now();  // opens the log
  const auto commit = sqlite_format::LastCommit::read(connection.handle());
  const auto backfilled = sqlite_format::count_backfilled(connection.handle());
  if (!commit || !backfilled) return {};
  const std::uint32_t frames = commit->frames();
  const std::uint64_t bytes = commit->bytes_per_frame();
  return {frames * bytes, (frames - std::min(*backfilled, frames)) * bytes};
}

std::vector<Lease> SqliteDatabase::readers_of_one_snapshot(std::size_t count) {
  std::vector<Lease> leases;
  while (leases.size() < count) leases.push_back(readers_.lend());
  std::vector<std::optional<sqlite_format::LastCommit>> commits;
  const auto has_log = [](const Lease& lease) { return sqlite(*lease).has_log(); };
  bool is_same_state = false;
  for (int attempt = 1; !is_same_state; ++attempt) {
    commits.clear();
    for (const Lease& lease : leases) {
      commits.push_back(sqlite(*lease).begin_present_snapshot());
    }
    // Beside 4,000 commits per second, one attempt in 16 has a commit between its snapshots.
    is_same_state = std::ranges::count(commits, commits.front()) == std::ssize(commits) &&
                    (commits.front() || std::ranges::none_of(leases, has_log));
    if (attempt == max_attempts) break;
    if (!is_same_state) std::ranges::for_each(leases, [](Lease& lease) { lease->end_snapshot(); });
  }
  if (!is_same_state) leases.resize(1);
  return leases;
}

// Returns the files of SQLite's library that are mapped into this process, if the system has /proc.
std::vector<std::string> mapped_copies() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  const int reason = maps.is_open() ? 0 : errno;
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find("libsqlite3", path) != std::string::npos) {
      paths.insert(line.substr(path));
    }
  }
  // A stream also ends, without an exception, if memory runs out or a read fails.
  if (maps.bad() || Error::code_of_system(reason) == Code::unavailable) {
    throw Error(Code::unavailable, "the libraries of this process cannot be listed; try again");
  }
  return {paths.begin(), paths.end()};
}

Health SqliteDatabase::health() {
  Health health{std::string("SQLite ") + sqlite3_libversion(), mapped_copies(), {}};
  const Lease lease = reader();
  SqliteConnection& connection = sqlite(*lease);
  // An integrity check of SQLite 3.40 does not call the progress handler for seconds, but obeys
  // sqlite3_interrupt.
  connection.set_interrupt(nullptr);
  const auto check = [&] {
    Query query = connection.query("PRAGMA integrity_check");
    while (query.step()) {
      const std::string_view finding = query.column(0).bytes;
      if (const int failure = sqlite_format::failed_read_of(finding)) throw_failure(failure);
      // find_wrong_types reports these by key.
      const bool is_of_type = finding.find(" value in ") != std::string_view::npos;
      if (finding != "ok" && !is_of_type) health.findings.emplace_back(finding);
    }
    if (health.findings.empty()) health.findings = find_wrong_types(connection);
  };
  ParallelTask checking(check, [&] { sqlite3_interrupt(connection.handle()); });
  checking.wait(check_interval, [&] { interrupt_.check(); });
  return health;
}

void SqliteDatabase::backup(const std::string& destination, const Observe& observe) {
  back_up(sqlite(*reader()), destination, observe);
}

// Throws if other paths lead to the file. SQLite finds the log by the path, so writes by two paths
// would be in two logs.
void refuse_other_names(const std::string& path) {
  std::error_code failure;
  const auto names = filesystem::hard_link_count(path, failure);
  if (failure || names < 2) return;
  throw Error(Code::unusable,
              path + " has " + std::to_string(names) +
                  " names (hard links), but only one log; replace the other names by copies, or "
                  "remove them");
}

std::string make_temporary_file(std::string folder) {
  if (folder.empty()) {
    const char* named =
        std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): read only when a store is opened
    folder = named == nullptr ? "/tmp" : named;
  }
  std::string path = folder + "/comptroller-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) throw Error::of_system(errno, "cannot make a temporary file");
  ::close(descriptor);
  return path;
}

}  // namespace

std::unique_ptr<Database> open(const std::string& path, const OpenOptions& options) {
  if (options.is_temporary && options.read_only) {
    throw Error::invalid("read_only", "a store in memory begins empty; open it for writing");
  }
  if (options.is_temporary) {
    return std::make_unique<SqliteDatabase>(
        std::make_unique<OpenFile>(make_temporary_file(options.temporary_folder)), options);
  }
  if (path.empty()) throw Error::invalid("path", "must name a file");
  const std::string resolved = resolve(path);  // so that all users of a file share its lock files
  try {
    std::error_code unreadable;  // SQLite reports it
    const filesystem::file_status found = filesystem::status(resolved, unreadable);
    if (options.read_only && found.type() == filesystem::file_type::not_found) {
      throw Error(Code::unusable, "there is no file");
    }
    if (filesystem::exists(found) && !filesystem::is_regular_file(found)) {
      throw Error(Code::unusable, "it is not a file");
    }
    auto file = std::make_unique<OpenFile>(resolved);
    if (const auto store = find_open_file(resolved); store && *store != resolved) {
      throw Error(Code::unusable,
                  path + " is a file of the open store " + *store + "; name another file");
    }
    if (filesystem::exists(found)) {
      refuse_foreign(resolved);
      refuse_other_names(resolved);
    }
    return std::make_unique<SqliteDatabase>(std::move(file), options);
  } catch (const Error& error) {
    if (error.detail().find(resolved) != std::string::npos) throw;
    throw Error(error.code(), "cannot open " + path + ": " + error.detail());
  }
}

}  // namespace comptroller::db::sqlite
