#include "db/sqlite/handle.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <thread>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// A page takes thousands of operations of SQLite's virtual machine, about 20 ns each.
constexpr int operations_between_callbacks = 1000;
// The maximum wait for a lock of a program that does not use our lock files.
constexpr std::chrono::seconds max_busy{5};
constexpr int max_busy_pause_ms = 25;

constexpr const char* busy = "another program holds the store; try again";
constexpr const char* unopened = "the store cannot be opened";
constexpr const char* unwritable =
    "the store cannot be written; check the permissions of its file and folder";
struct Reason {
  int result;
  Code code;
  const char* text;
};
constexpr Reason reasons[]{
    {SQLITE_FULL, Code::unavailable, "the disk is full; free some space and try again"},
    {SQLITE_IOERR, Code::unavailable, "the disk reported an I/O error"},
    {SQLITE_NOMEM, Code::unavailable, "out of memory"},
    {SQLITE_READONLY, Code::unusable, unwritable},
    {SQLITE_PERM, Code::unusable, unwritable},
    {SQLITE_CANTOPEN, Code::unusable,
     "the store cannot be opened; check that its folder exists and may be written"},
    {SQLITE_CORRUPT, Code::unusable, "the store is damaged; restore a backup"},
    {SQLITE_NOTADB, Code::unusable, "the file is not a comptroller store"},
    {SQLITE_BUSY, Code::unavailable, busy},
    {SQLITE_LOCKED, Code::unavailable, busy},
    {SQLITE_PROTOCOL, Code::unavailable, "the log of the store could not be read; try again"},
    {SQLITE_INTERRUPT, Code::unavailable, "interrupted"}};

// Returns a message of SQLite, which may quote bytes of a damaged file.
std::string printable(std::string_view message) {
  constexpr std::size_t max_length = 100;
  std::string text(message.substr(0, max_length));
  std::ranges::replace_if(text, [](char each) { return each < ' ' || each > '~'; }, '?');
  return text;
}

// The statements of this program are valid for its schema and what it stores, so the content of the
// file is not what it stored: a column or a table is missing, a unique value exists twice.
constexpr int failures_of_content[]{SQLITE_ERROR,      SQLITE_SCHEMA,   SQLITE_TOOBIG,
                                    SQLITE_CONSTRAINT, SQLITE_MISMATCH, SQLITE_FORMAT};

// Returns the errno value of the last failure of a file's VFS, 0 if there was none.
int last_errno(sqlite3_file* file) {
  int reason = 0;
  if (file == nullptr || file->pMethods == nullptr) return 0;
  file->pMethods->xFileControl(file, SQLITE_FCNTL_LAST_ERRNO, &reason);
  return reason;
}

// Whether a read of the database or its log has failed. SQLite reports that as damage of the file.
bool has_failed_to_read(sqlite3* handle) {
  return std::ranges::any_of(
      std::array{SQLITE_FCNTL_FILE_POINTER, SQLITE_FCNTL_JOURNAL_POINTER}, [&](int operation) {
        sqlite3_file* file = nullptr;
        sqlite3_file_control(handle, "main", operation, static_cast<void*>(&file));
        const int reason = last_errno(file);
        return reason == EIO || reason == ENXIO || reason == ERANGE;
      });
}

// Whether this user may write a database and its log, or make those that are missing.
bool may_be_written(const std::string& path) {
  const auto may_write = [&](const char* suffix) {
    return ::access((path + suffix).c_str(), R_OK | W_OK) == 0 || errno == ENOENT;
  };
  return may_write("") && may_write("-wal") && may_write("-shm") &&
         ::access(std::filesystem::path(path).parent_path().c_str(), W_OK) == 0;
}
bool may_be_written(sqlite3* handle) {
  const char* const name = sqlite3_db_filename(handle, "main");
  return name != nullptr && may_be_written(std::string(name));
}

[[noreturn]] void throw_at_present(const char* purpose) {
  throw Error(Code::unavailable, std::string(unopened) + purpose + " at present; try again");
}

std::string uri_of(const std::string& path, const char* option) {
  // SQLite takes all other characters literally.
  constexpr std::array<std::pair<char, const char*>, 3> reserved{
      {{'%', "%25"}, {'?', "%3F"}, {'#', "%23"}}};
  std::string uri = "file:";
  for (const char character : path) {
    const auto* const found =
        std::ranges::find(reserved, character, &std::pair<char, const char*>::first);
    uri += found == reserved.end() ? std::string(1, character) : found->second;
  }
  return uri + option;
}

}  // namespace

void throw_failure(int result) {
  for (const auto& [known, code, text] : reasons) {
    if (known == (result & 0xFF)) throw Error(code, text);
  }
  throw Error(Code::internal, "the store failed with SQLite result " + std::to_string(result));
}

// Throws unavailable if a file could not be read, or not be opened, or not for writing, for a
// reason that may pass.
void Handle::check_reason(int result) const {
  if ((result & 0xFF) == SQLITE_CANTOPEN) {
    const int reason = sqlite3_system_errno(handle());
    if (Error::code_of_system(reason) == Code::unavailable) {
      throw Error::of_system(reason, unopened);
    }
    // SQLite does not always keep the reason.
    if (may_be_written(handle())) throw_at_present("");
  }
  if ((result & 0xFF) == SQLITE_CORRUPT && has_failed_to_read(handle())) {
    throw_failure(SQLITE_IOERR);
  }
  if ((result & 0xFF) == SQLITE_READONLY && may_be_written(handle())) {
    throw_at_present(" for writing");
  }
}

void Handle::fail(int result) {
  if (thrown_) std::rethrow_exception(std::exchange(thrown_, nullptr));
  check_state();
  check_reason(result);
  if (std::ranges::find(failures_of_content, result & 0xFF) != std::end(failures_of_content)) {
    throw Error::damaged(printable(sqlite3_errmsg(handle())) + "; restore a backup");
  }
  throw_failure(result);
}

void Handle::fail(const sqlite_format::Failure& failure) {
  if ((failure.result() & 0xFF) != SQLITE_CORRUPT) fail(failure.result());
  check_reason(failure.result());
  throw Error::damaged(failure.what());
}

void Handle::compare_state() const {
  if (state_ == files::FileState::of(path_)) return;
  throw Error(Code::unavailable,
              "the store was written during the read, and this user may not lock it; try again, or "
              "let the user write to the store and its folder");
}

std::string immutable_uri(const std::string& path) {
  return uri_of(path, "?immutable=1");
}

std::string private_uri(const std::string& path) {
  return uri_of(path, "?nolock=1");
}

Handle::Handle(const std::string& path, int flags, const char* vfs) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, vfs);
  handle_.reset(handle);
  // If SQLite cannot create the file, it opens it without creating it, and then reports ENOENT.
  if ((flags & SQLITE_OPEN_CREATE) != 0 && (result & 0xFF) == SQLITE_CANTOPEN) {
    check_reason(result);
    if (may_be_written(path)) throw_at_present("");
  }
  check(result);
  // SQLite opens a file that it cannot open for writing only for reading.
  if ((flags & SQLITE_OPEN_READWRITE) != 0 && sqlite3_db_readonly(handle, "main") == 1) {
    fail(SQLITE_READONLY);
  }
  check(sqlite3_extended_result_codes(handle, 1));
  check(sqlite3_busy_handler(handle, &on_busy, this));
  sqlite3_progress_handler(handle, operations_between_callbacks, &on_progress, this);
}

void Handle::execute(const std::string& sql) {
  check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::optional<int> Handle::truncate_log() noexcept {
  sqlite3_busy_handler(handle(), nullptr, nullptr);
  int frames = -1;
  sqlite3_wal_checkpoint_v2(handle(), nullptr, SQLITE_CHECKPOINT_TRUNCATE, &frames, nullptr);
  sqlite3_busy_handler(handle(), &on_busy, this);
  return frames < 0 ? std::nullopt : std::optional(frames);
}

void Handle::check_log() {
  sqlite3_busy_handler(handle(), nullptr, nullptr);
  const int result = sqlite3_exec(handle(), "BEGIN IMMEDIATE", nullptr, nullptr, nullptr);
  sqlite3_busy_handler(handle(), &on_busy, this);
  if ((result & 0xFF) == SQLITE_BUSY) return;  // another process writes
  check(result);
  execute("ROLLBACK");
}

int Handle::on_progress(void* handle) noexcept {
  auto& self = *static_cast<Handle*>(handle);
  try {
    self.check_interrupt();
    return 0;
  } catch (...) {
    self.thrown_ = std::current_exception();
    return 1;
  }
}

int Handle::on_busy(void* handle, int count) noexcept {
  auto& self = *static_cast<Handle*>(handle);
  if (count == 0) self.busy_until_ = std::min(Clock::now() + max_busy, self.deadline_);
  if (Clock::now() >= self.busy_until_ || on_progress(handle) != 0) return 0;
  std::this_thread::sleep_for(std::chrono::milliseconds(std::min(count + 1, max_busy_pause_ms)));
  return 1;
}

void Handle::check_interrupt() {
  if (interrupt_ == nullptr) return;
  const auto now = Clock::now();
  // The callback may wait for other threads, so a new statement is not interrupted at once. A
  // sequence of short statements counts as one long statement.
  const bool has_just_begun = statements_ != checked_statements_ && now - called_ >= check_interval;
  checked_statements_ = statements_;
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

}  // namespace comptroller::db::sqlite
