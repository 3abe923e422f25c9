#include "db/sqlite/readers.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <utility>

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr int cache_kib = 8192;

// If set, tables are read only with SQL.
constexpr const char* reads_with_sql = "COMPTROLLER_SCAN_WITH_SQL";

std::unique_ptr<SqliteConnection> open_reader(const std::string& path, bool is_immutable) {
  auto reader = is_immutable ? std::make_unique<SqliteConnection>(
                                   immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
                             : std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READONLY);
  reader->keep_log();  // only the writer checkpoints
  reader->execute("PRAGMA cache_size = -" + std::to_string(cache_kib));
  return reader;
}

}  // namespace

// NOLINTBEGIN(concurrency-mt-unsafe): the environment is read only when a store is opened
Readers::Readers(OpenFile& file, bool is_only_read, const Interrupt& interrupt)
    : file_(file),
      path_(file.path()),
      is_only_read_(is_only_read),
      reads_with_sql_(std::getenv(reads_with_sql) != nullptr),
      interrupt_(interrupt) {}
// NOLINTEND(concurrency-mt-unsafe)

Readers::FileState Readers::state() const {
  struct stat found{};
  if (::stat(path_.c_str(), &found) != 0) return {};
  std::error_code ignored;
  return {found.st_ino, found.st_size, filesystem::last_write_time(path_, ignored)};
}

// A store without a log can be read even if the index of the log cannot be created.
bool Readers::needs_immutable() const {
  return is_only_read_ && !filesystem::exists(path_ + "-wal") &&
         ::access(filesystem::path(path_).parent_path().c_str(), W_OK) != 0;
}

// Discards connections to a file that was opened as immutable and has changed. Called with the
// mutex held.
void Readers::follow_changes() {
  if (!idle_.empty() && !immutable_) return;
  const std::optional<FileState> now = needs_immutable() ? std::optional(state()) : std::nullopt;
  if (now == immutable_) return;
  idle_.clear();
  file_.identify();
  ++opening_;
  immutable_ = now;
}

Lease Readers::lend() {
  std::unique_ptr<SqliteConnection> connection;
  int opening = 0;
  bool is_immutable = false;
  {
    const std::lock_guard guard(mutex_);
    follow_changes();
    opening = opening_;
    is_immutable = immutable_.has_value();
    if (!idle_.empty()) {
      connection = std::move(idle_.back());
      idle_.pop_back();
    }
  }
  if (!connection) {
    connection = open_reader(path_, is_immutable);
    if (!is_immutable) file_.require_place();
    if (reads_with_sql_) connection->read_with_sql();
  }
  connection->set_interrupt(&interrupt_);
  return {connection.release(), [this, opening](Connection* lent) {
            take_back(std::unique_ptr<SqliteConnection>(static_cast<SqliteConnection*>(lent)),
                      opening);
          }};
}

void Readers::take_back(std::unique_ptr<SqliteConnection> connection, int opening) {
  connection->roll_back();  // the caller may have failed inside a transaction
  const std::lock_guard guard(mutex_);
  if (opening == opening_ && idle_.size() < max_idle_connections)
    idle_.push_back(std::move(connection));
}

int Readers::opening() {
  const std::lock_guard guard(mutex_);
  follow_changes();
  return opening_;
}

void Readers::close() {
  const std::lock_guard guard(mutex_);
  idle_.clear();
}

}  // namespace comptroller::db::sqlite
