#include "db/sqlite/database.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <system_error>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/lock_file.hpp"
#include "db/sqlite/schema.hpp"
#include "db/sqlite/writer.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::seconds longest_wait_to_open{30};
constexpr int cache_kib_of_writer = 65536;
constexpr int cache_kib_of_reader = 8192;
constexpr int pages_a_backup_step = 1024;
constexpr std::array<const char*, 5> file_suffixes{"", "-wal", "-shm", "-lock", "-moment"};

LockFile::Hold wait_for(LockFile& lock) {
  return {lock, std::chrono::steady_clock::now() + longest_wait_to_open};
}

// Leaves the log as it is when this connection closes.
void keep_log(SqliteConnection& connection) {
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr);
}

void set_cache(SqliteConnection& connection, int kib) {
  connection.execute("PRAGMA cache_size = -" + std::to_string(kib));
}

// The path as a URI of a file that nobody changes, which SQLite reads without its lock and index
// files.
std::string immutable_uri(const std::string& path) {
  constexpr std::string_view hexadecimal = "0123456789ABCDEF";
  std::string uri = "file:";
  for (const char character : path) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte <= ' ' || byte >= 0x7F || character == '?' || character == '#' || character == '%') {
      uri += '%';
      uri += hexadecimal[byte >> 4U];
      uri += hexadecimal[byte & 0xFU];
    } else {
      uri += character;
    }
  }
  return uri + "?immutable=1";
}

std::unique_ptr<SqliteConnection> open_reader(const std::string& path, bool is_immutable) {
  auto reader = is_immutable ? std::make_unique<SqliteConnection>(
                                   immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
                             : std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READONLY);
  keep_log(*reader);  // only the writer folds it into the file
  set_cache(*reader, cache_kib_of_reader);
  return reader;
}

std::unique_ptr<SqliteConnection> open_writer(const std::string& path, LockFile& write_lock) {
  auto writer =
      std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (schema_version(*writer, path) < newest_schema_version()) {
    const LockFile::Hold hold = wait_for(write_lock);
    migrate(*writer, path);
  }
  writer->execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
  writer->execute("PRAGMA threads = 2");
  set_cache(*writer, cache_kib_of_writer);
  return writer;
}

// What changes when a file is written or replaced.
struct FileState {
  ::ino_t node = 0;
  ::off_t size = 0;
  std::int64_t modified_s = 0;
  std::int64_t modified_ns = 0;

  friend bool operator==(const FileState&, const FileState&) = default;
};

FileState state_of(const std::string& path) {
  struct stat found{};
  if (::stat(path.c_str(), &found) != 0) return {};
#ifdef __APPLE__
  const timespec modified = found.st_mtimespec;
#else
  const timespec modified = found.st_mtim;
#endif
  return {found.st_ino, found.st_size, modified.tv_sec, modified.tv_nsec};
}

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, const OpenOptions& options);
  ~SqliteDatabase() override;

  Lease reader() override;
  std::vector<Lease> readers_of_one_moment(std::size_t count) override;
  bool is_writable() const override { return writer_ != nullptr; }
  void write(const std::function<void(Connection&)>& work) override;
  void write_bulk(const std::function<bool(Connection&)>& work) override;
  bool owns(const std::string& path) const override;
  Health health() override;
  void backup(const std::string& destination) override;

 private:
  Writer& writer();
  void copy_to(const std::string& path);
  bool needs_immutable() const;
  void follow_changes();
  std::unique_ptr<SqliteConnection> take_idle();
  Lease lend(std::unique_ptr<SqliteConnection> connection);

  std::string path_;
  OpenOptions options_;
  // Of a read-only store in a folder where nothing can be made; else nothing.
  std::optional<FileState> immutable_;
  std::atomic<int> openings_ = 0;  // connections from before the last one are not used again
  LockFile write_lock_;
  LockFile moment_lock_;
  std::unique_ptr<SqliteConnection> write_connection_;
  std::unique_ptr<Writer> writer_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<SqliteConnection>> idle_;
};

SqliteDatabase::SqliteDatabase(std::string path, const OpenOptions& options)
    : path_(std::move(path)),
      options_(options),
      write_lock_(path_ + "-lock", options.read_only),
      moment_lock_(path_ + "-moment", options.read_only) {
  const LockFile::Hold hold = wait_for(moment_lock_);
  if (needs_immutable()) immutable_ = state_of(path_);
  if (!options_.read_only) {
    write_connection_ = open_writer(path_, write_lock_);
    writer_ = std::make_unique<Writer>(*write_connection_, write_lock_, moment_lock_);
  }
  // One connection stays open for life: the log and its index are never torn down under others.
  idle_.push_back(open_reader(path_, immutable_.has_value()));
  if (options_.read_only && schema_version(*idle_.front(), path_) < newest_schema_version()) {
    throw Error(Code::unavailable, path_ +
                                       " has an older schema; open it for writing once, or run "
                                       "`comptroller migrate`");
  }
}

SqliteDatabase::~SqliteDatabase() {
  try {
    const LockFile::Hold hold = wait_for(moment_lock_);
    idle_.clear();
    writer_.reset();
    // The last to close folds the log into the file, unless someone is writing: then that is the
    // last.
    const LockFile::Hold writing(write_lock_, std::try_to_lock);
    if (write_connection_ && !writing.is_held()) keep_log(*write_connection_);
    write_connection_.reset();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the members close themselves
  }
  if (!options_.is_temporary) return;
  for (const char* suffix : file_suffixes) {
    std::error_code ignored;
    filesystem::remove(path_ + suffix, ignored);
  }
}

// Where not even the log's index can be made, a store without a log can still be read.
bool SqliteDatabase::needs_immutable() const {
  return options_.read_only && !filesystem::exists(path_ + "-wal") &&
         ::access(filesystem::path(path_).parent_path().c_str(), W_OK) != 0;
}

// What was opened as unchanging is opened anew once it has changed. The caller has the mutex.
void SqliteDatabase::follow_changes() {
  if (!immutable_) return;
  const FileState now = state_of(path_);
  const bool still_needs_immutable = needs_immutable();
  if (still_needs_immutable && now == *immutable_) return;
  idle_.clear();
  ++openings_;
  immutable_ = still_needs_immutable ? std::optional(now) : std::nullopt;
}

std::unique_ptr<SqliteConnection> SqliteDatabase::take_idle() {
  bool is_immutable = false;
  {
    const std::lock_guard guard(mutex_);
    follow_changes();
    if (!idle_.empty()) {
      auto connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    is_immutable = immutable_.has_value();
  }
  return open_reader(path_, is_immutable);
}

Lease SqliteDatabase::lend(std::unique_ptr<SqliteConnection> connection) {
  return {connection.release(), [this, opened = openings_.load()](Connection* lent) {
            std::unique_ptr<SqliteConnection> back(static_cast<SqliteConnection*>(lent));
            // Whoever had it may have failed inside a transaction.
            if (back->in_transaction()) {
              sqlite3_exec(back->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
            }
            const std::lock_guard guard(mutex_);
            if (opened == openings_) idle_.push_back(std::move(back));
          }};
}

Lease SqliteDatabase::reader() {
  return lend(take_idle());
}

std::vector<Lease> SqliteDatabase::readers_of_one_moment(std::size_t count) {
  std::vector<std::unique_ptr<SqliteConnection>> connections;
  while (connections.size() < count) connections.push_back(take_idle());
  std::vector<Lease> leases;
  const LockFile::Hold hold = wait_for(moment_lock_);
  for (auto& connection : connections) {
    connection->execute("BEGIN");
    // A transaction sees the moment of its first read.
    connection->query("SELECT count(*) FROM customers").step();
    leases.push_back(lend(std::move(connection)));
  }
  return leases;
}

Writer& SqliteDatabase::writer() {
  if (writer_) return *writer_;
  throw Error(Code::unavailable, "the store was opened read-only");
}

void SqliteDatabase::write(const std::function<void(Connection&)>& work) {
  writer().write(work);
}

void SqliteDatabase::write_bulk(const std::function<bool(Connection&)>& work) {
  writer().write_bulk(work);
}

// The file itself, whatever links lead to it, so that all its users share one lock file.
std::string resolve(const std::string& path) {
  std::error_code failure;
  const filesystem::path absolute =
      filesystem::weakly_canonical(filesystem::absolute(path, failure), failure);
  return failure ? path : absolute.string();
}

bool SqliteDatabase::owns(const std::string& path) const {
  const std::string resolved = resolve(path);
  return std::ranges::any_of(file_suffixes,
                             [&](const char* suffix) { return path_ + suffix == resolved; });
}

// The files of SQLite's library that are mapped into this process, where the system tells.
std::vector<std::string> mapped_copies() {
  std::set<std::string> paths;
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    const std::size_t path = line.find('/');
    if (path != std::string::npos && line.find("libsqlite3", path) != std::string::npos) {
      paths.insert(line.substr(path));
    }
  }
  return {paths.begin(), paths.end()};
}

Health SqliteDatabase::health() {
  Health health{std::string("SQLite ") + sqlite3_libversion(), mapped_copies(), {}};
  const Lease connection = reader();
  Query query = connection->query("PRAGMA integrity_check");
  while (query.step()) {
    const std::string_view finding = query.column(0).bytes;
    if (finding != "ok") health.findings.emplace_back(finding);
  }
  return health;
}

void sync_to_disk(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!is_synced) throw Error(Code::unavailable, "cannot write " + path + " to disk");
}

// All of the store, as it is at one moment, in a new file.
void SqliteDatabase::copy_to(const std::string& path) {
  const Lease source = reader();
  SqliteConnection copy(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3_backup* backup = sqlite3_backup_init(
      copy.handle(), "main", static_cast<SqliteConnection&>(*source).handle(), "main");
  if (backup == nullptr) throw_failure(sqlite3_errcode(copy.handle()));
  // One reading transaction from the first step to the last: the copy is of one moment.
  const Snapshot snapshot(*source);
  source->query("SELECT count(*) FROM customers").step();
  int result = SQLITE_OK;
  while (result == SQLITE_OK) result = sqlite3_backup_step(backup, pages_a_backup_step);
  sqlite3_backup_finish(backup);
  if (result != SQLITE_DONE) throw_failure(result);
}

struct Unfinished {
  std::string path;  // empty: there is none any more
  ~Unfinished() {
    std::error_code ignored;
    if (!path.empty()) filesystem::remove(path, ignored);
  }
};

void SqliteDatabase::backup(const std::string& destination) {
  if (destination.empty()) throw Error::invalid("destination", "must name a file");
  if (filesystem::exists(destination)) {
    throw Error(Code::unavailable, destination + " exists already; choose another name");
  }
  try {
    const std::string name = destination + ".part";
    // Two backups to one name must not write one file; what a dead one left is taken over.
    LockFile part(name, false);
    const LockFile::Hold hold(part, std::try_to_lock);
    if (!hold.is_held()) throw Error(Code::unavailable, "another backup is writing it");
    Unfinished unfinished{name};
    filesystem::resize_file(name, 0);
    copy_to(name);
    sync_to_disk(name);
    filesystem::rename(name, destination);
    unfinished.path.clear();
  } catch (const std::exception& failure) {
    throw Error(Code::unavailable, "cannot back up to " + destination + ": " + failure.what());
  }
  const filesystem::path folder = filesystem::absolute(destination).parent_path();
  sync_to_disk(folder.string());
}

std::string make_temporary_file() {
  const char* folder = std::getenv("TMPDIR");  // NOLINT(concurrency-mt-unsafe): read at open only
  std::string path = std::string(folder == nullptr ? "/tmp" : folder) + "/comptroller-XXXXXX";
  const int descriptor = ::mkstemp(path.data());
  if (descriptor < 0) {
    throw Error(Code::unavailable,
                "cannot make a temporary file: " + std::generic_category().message(errno));
  }
  ::close(descriptor);
  return path;
}

}  // namespace

std::unique_ptr<Database> open(const std::string& path, const OpenOptions& options) {
  if (options.is_temporary && options.read_only) {
    throw Error::invalid("read_only", "a store in memory begins empty; open it for writing");
  }
  if (options.is_temporary) {
    return std::make_unique<SqliteDatabase>(make_temporary_file(), options);
  }
  if (path.empty()) throw Error::invalid("path", "must name a file");
  const std::string resolved = resolve(path);
  try {
    std::error_code unreadable;  // SQLite says so
    const filesystem::file_status found = filesystem::status(resolved, unreadable);
    if (options.read_only && found.type() == filesystem::file_type::not_found) {
      throw Error(Code::unavailable, "there is no file");
    }
    if (filesystem::exists(found) && !filesystem::is_regular_file(found)) {
      throw Error(Code::unavailable, "it is not a file");
    }
    return std::make_unique<SqliteDatabase>(resolved, options);
  } catch (const Error& error) {
    if (error.detail().find(resolved) != std::string::npos) throw;
    throw Error(error.code(), "cannot open " + path + ": " + error.detail());
  }
}

}  // namespace comptroller::db::sqlite
