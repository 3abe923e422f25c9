#include "db/sqlite/database.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <system_error>

#include "db/sqlite/backup.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/lock_file.hpp"
#include "db/sqlite/readers.hpp"
#include "db/sqlite/schema.hpp"
#include "db/sqlite/writer.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr std::chrono::seconds longest_wait_to_open{30};
constexpr int cache_kib_of_writer = 65536;
constexpr int most_links = 40;
constexpr std::array<const char*, 5> file_suffixes{"", "-wal", "-shm", "-lock", "-moment"};

LockFile::Hold wait_for(LockFile& lock, const std::function<void()>& while_waiting = {}) {
  return {lock, std::chrono::steady_clock::now() + longest_wait_to_open, while_waiting};
}

std::unique_ptr<SqliteConnection> open_writer(const std::string& path, LockFile& write_lock,
                                              const std::function<void()>& while_waiting) {
  auto writer =
      std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  if (schema_version(*writer, path) < newest_schema_version()) {
    const LockFile::Hold hold = wait_for(write_lock, while_waiting);
    migrate(*writer, path);
  }
  writer->execute("PRAGMA synchronous = FULL; PRAGMA wal_autocheckpoint = 0");
  writer->execute("PRAGMA threads = 2");
  writer->execute("PRAGMA cache_size = -" + std::to_string(cache_kib_of_writer));
  return writer;
}

SqliteConnection& sqlite(Connection& connection) {
  return static_cast<SqliteConnection&>(connection);
}

class SqliteDatabase final : public Database {
 public:
  SqliteDatabase(std::string path, const OpenOptions& options);
  ~SqliteDatabase() override;

  Lease reader() override { return readers_.lend(); }
  std::vector<Lease> readers_of_one_moment(std::size_t count) override;
  bool is_writable() const override { return writer_ != nullptr; }
  void write(const std::function<void(Connection&)>& work) override { writer().write(work); }
  void write_bulk(const std::function<bool(Connection&)>& work) override {
    writer().write_bulk(work);
  }
  Commits commits() const override { return writer_ ? writer_->commits() : Commits{}; }
  bool owns(const std::string& path) const override;
  Health health() override;
  void backup(const std::string& destination) override;

 private:
  Writer& writer() {
    if (writer_) return *writer_;
    throw Error(Code::unavailable, "the store was opened read-only");
  }

  std::string path_;
  OpenOptions options_;
  LockFile write_lock_;
  LockFile moment_lock_;
  std::unique_ptr<SqliteConnection> write_connection_;
  std::unique_ptr<Writer> writer_;
  Readers readers_;
};

SqliteDatabase::SqliteDatabase(std::string path, const OpenOptions& options)
    : path_(std::move(path)),
      options_(options),
      write_lock_(path_ + "-lock", options.read_only),
      moment_lock_(path_ + "-moment", options.read_only),
      readers_(path_, options.read_only) {
  const LockFile::Hold hold = wait_for(moment_lock_, options_.while_waiting);
  if (!options_.read_only) {
    write_connection_ = open_writer(path_, write_lock_, options_.while_waiting);
    writer_ = std::make_unique<Writer>(*write_connection_, write_lock_, moment_lock_,
                                       options_.while_waiting);
  }
  // One connection stays open for life: the log and its index are never torn down under others.
  const Lease first = readers_.lend();
  if (options_.read_only && schema_version(sqlite(*first), path_) < newest_schema_version()) {
    throw Error(Code::unavailable, path_ +
                                       " has an older schema; open it for writing once, or run "
                                       "`comptroller migrate`");
  }
}

SqliteDatabase::~SqliteDatabase() {
  try {
    const LockFile::Hold hold = wait_for(moment_lock_);
    readers_.close();
    writer_.reset();
    // The last to close folds the log into the file, unless someone is writing: then that is the
    // last.
    const LockFile::Hold writing(write_lock_, std::try_to_lock);
    if (write_connection_ && !writing.is_held()) write_connection_->keep_log();
    write_connection_.reset();
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): the members close themselves
  }
  if (!options_.is_temporary) return;
  for (const char* suffix : file_suffixes) {
    std::error_code ignored;
    filesystem::remove(path_ + suffix, ignored);
  }
}

std::vector<Lease> SqliteDatabase::readers_of_one_moment(std::size_t count) {
  std::vector<Lease> leases;
  while (leases.size() < count) leases.push_back(readers_.lend());
  const LockFile::Hold hold = wait_for(moment_lock_);
  for (const Lease& lease : leases) {
    lease->execute("BEGIN");
    // A transaction sees the moment of its first read.
    lease->query("SELECT count(*) FROM customers").step();
  }
  return leases;
}

// The file itself, whatever links lead to it, so that all its users share one lock file.
std::string resolve(const std::string& path) {
  std::error_code failure;
  filesystem::path file = filesystem::absolute(path, failure);
  // A link whose file is yet to be made is followed by hand.
  for (int links = 0; links < most_links && filesystem::is_symlink(file, failure); ++links) {
    file = file.parent_path() / filesystem::read_symlink(file, failure);
  }
  file = filesystem::weakly_canonical(file, failure);
  return failure ? path : file.string();
}

// Whether SQLite would take a file for a database.
bool is_database(const std::string& path) {
  constexpr std::string_view beginning("SQLite format 3\0", 16);
  std::ifstream file(path, std::ios::binary);
  std::string begins(beginning.size(), '\0');
  file.read(begins.data(), static_cast<std::streamsize>(begins.size()));
  return !file.is_open() || file.gcount() == 0 || begins == beginning;
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

void SqliteDatabase::backup(const std::string& destination) {
  back_up(sqlite(*reader()), destination);
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
    if (!is_database(resolved)) {
      throw Error(Code::unavailable, "the file is not a comptroller store");
    }
    return std::make_unique<SqliteDatabase>(resolved, options);
  } catch (const Error& error) {
    if (error.detail().find(resolved) != std::string::npos) throw;
    throw Error(error.code(), "cannot open " + path + ": " + error.detail());
  }
}

}  // namespace comptroller::db::sqlite
