#include "db/sqlite/readers.hpp"

#include <unistd.h>

#include <filesystem>
#include <utility>

#include "db/sqlite/schema.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr int cache_kib = 8192;

std::unique_ptr<SqliteConnection> open_reader(const std::string& path,
                                              const std::optional<files::FileState>& immutable) {
  auto reader = immutable ? std::make_unique<SqliteConnection>(
                                immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI)
                          : std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READONLY);
  if (immutable) reader->require_state(path, *immutable);
  reader->keep_log();  // only the writer checkpoints
  reader->check_content(&require_newest_schema);
  reader->execute("PRAGMA cache_size = -" + std::to_string(cache_kib));
  return reader;
}

}  // namespace

Readers::Readers(OpenFile& file, bool is_only_read, bool is_only_sql, const Interrupt& interrupt)
    : file_(file),
      path_(file.path()),
      is_only_read_(is_only_read),
      is_only_sql_(is_only_sql),
      interrupt_(interrupt) {}

// SQLite removes them when the last connection to the file is closed, if that may write the file.
// The connections of the pool may not.
Readers::~Readers() {
  idle_.clear();
  try {
    if (!makes_log_ || filesystem::file_size(path_ + "-wal") > 0) return;
    SqliteConnection last(path_, SQLITE_OPEN_READWRITE);
    last.read_number("PRAGMA schema_version");
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): it was removed, or is in use
  }
}

// Whether this user can create the log and its index, whose locks keep a snapshot whole, and remove
// them afterwards.
bool Readers::may_lock() const {
  return ::access(filesystem::path(path_).parent_path().c_str(), W_OK) == 0 &&
         ::access(path_.c_str(), W_OK) == 0;
}

// A store without a log can be read even if this user cannot lock it. Returns nullopt if it can, or
// there is a log. The log is looked for last: until it is removed, a checkpoint may write the file.
std::optional<files::FileState> Readers::state_of_immutable() const {
  if (!is_only_read_ || may_lock()) return std::nullopt;
  files::FileState state = files::FileState::of(path_);
  if (state != immutable_) state = files::FileState::settled(path_);
  return has_log() ? std::nullopt : std::optional(state);
}

bool Readers::has_log() const {
  return filesystem::exists(path_ + "-wal");
}

// Discards connections to a file that was opened as immutable and has changed. Called with the
// mutex held.
void Readers::follow_changes() {
  if (!idle_.is_empty() && !immutable_) return;
  const std::optional<files::FileState> now = state_of_immutable();
  if (now == immutable_) return;
  idle_.clear();
  file_.identify();
  ++opening_;
  immutable_ = now;
}

Lease Readers::lend() {
  std::unique_ptr<SqliteConnection> connection;
  int opening = 0;
  std::optional<files::FileState> immutable;
  {
    const std::lock_guard guard(mutex_);
    follow_changes();
    opening = opening_;
    immutable = immutable_;
    connection = idle_.take();
    if (!connection) makes_log_ = makes_log_ || (is_only_read_ && !immutable && !has_log());
  }
  if (!connection) {
    connection = open_reader(path_, immutable);
    if (!immutable) file_.require_place();
    if (is_only_sql_) connection->read_with_sql();
  }
  connection->set_interrupt(&interrupt_);
  return {connection.release(), [this, opening](Connection* lent) {
            take_back(std::unique_ptr<SqliteConnection>(static_cast<SqliteConnection*>(lent)),
                      opening);
          }};
}

void Readers::take_back(std::unique_ptr<SqliteConnection> connection, int opening) {
  connection->roll_back();  // the caller may have failed inside a transaction
  // Without memory, a rollback fails. The connection would keep its snapshot for ever.
  if (connection->in_transaction()) return;
  std::unique_ptr<SqliteConnection> unused;  // is closed after the mutex is free
  const std::lock_guard guard(mutex_);
  if (opening == opening_) unused = idle_.keep(std::move(connection));
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
