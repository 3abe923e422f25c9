#include "db/sqlite/connection.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// A page takes some thousands of operations of SQLite's virtual machine, each some 20 ns.
constexpr int operations_between_callbacks = 1000;
// How long to wait for a lock that only a program without our lock files can hold.
constexpr std::chrono::seconds longest_busy{5};
constexpr int longest_busy_pause_ms = 25;

const char* reason(int result) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return "the disk is full; free some space and try again";
    case SQLITE_IOERR:
      return "the disk reported an I/O error";
    case SQLITE_NOMEM:
      return "out of memory";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "the store cannot be written; check the permissions of its file and folder";
    case SQLITE_CANTOPEN:
      return "the store cannot be opened; check that its folder exists and may be written";
    case SQLITE_CORRUPT:
      return "the store is damaged; restore a backup";
    case SQLITE_NOTADB:
      return "the file is not a comptroller store";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds the store; try again";
    case SQLITE_INTERRUPT:
      return "interrupted";
    default:
      return nullptr;
  }
}

}  // namespace

void throw_failure(int result) {
  if (const char* text = reason(result)) throw Error(Code::unavailable, text);
  throw Error(Code::internal, "the store failed with SQLite result " + std::to_string(result));
}

void SqliteConnection::fail(int result) {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  throw_failure(result);
}

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

SqliteConnection::SqliteConnection(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  check(result);
  check(sqlite3_extended_result_codes(handle, 1));
  wait_when_busy(true);
  sqlite3_progress_handler(handle, operations_between_callbacks, &on_progress, this);
}

SqliteConnection::~SqliteConnection() = default;

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

void SqliteConnection::wait_when_busy(bool waits) {
  check(sqlite3_busy_handler(handle(), waits ? &on_busy : nullptr, this));
}

int SqliteConnection::on_progress(void* connection) noexcept {
  auto& self = *static_cast<SqliteConnection*>(connection);
  try {
    self.check_interrupt();
    return 0;
  } catch (...) {
    self.thrown_ = std::current_exception();
    return 1;
  }
}

int SqliteConnection::on_busy(void* connection, int count) noexcept {
  auto& self = *static_cast<SqliteConnection*>(connection);
  if (count == 0) self.busy_until_ = std::min(Clock::now() + longest_busy, self.deadline_);
  if (Clock::now() >= self.busy_until_ || on_progress(connection) != 0) return 0;
  std::this_thread::sleep_for(
      std::chrono::milliseconds(std::min(count + 1, longest_busy_pause_ms)));
  return 1;
}

void SqliteConnection::check_interrupt() {
  if (interrupt_ == nullptr) return;
  const auto now = Clock::now();
  // The callback may have to wait for others, so a statement that has just begun is left alone. A
  // sequence of short statements counts as one long statement.
  const bool has_just_begun = queries_ != checked_queries_ && now - called_ >= check_interval;
  checked_queries_ = queries_;
  called_ = now;
  if (has_just_begun) checked_ = now;
  interrupt_->check_open();
  if (now >= deadline_) {
    throw Error(Code::unavailable, "the write took too long and was undone; try again later");
  }
  if (now - checked_ < check_interval) return;
  checked_ = now;
  interrupt_->check();
}

void SqliteConnection::begin_snapshot() {
  query("BEGIN").run();
}

void SqliteConnection::end_snapshot() noexcept {
  const Uninterrupted scope(*this);
  try {
    query("COMMIT").run();
  } catch (const std::exception&) {  // a read has nothing to lose
    roll_back();
  }
}

void SqliteConnection::roll_back() noexcept {
  dropped_indexes_.clear();
  if (in_transaction()) sqlite3_exec(handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void SqliteConnection::read_now() {
  query("SELECT 1 FROM sqlite_schema LIMIT 1").run();
}

}  // namespace comptroller::db::sqlite
