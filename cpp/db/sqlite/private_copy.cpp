#include "db/sqlite/private_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <tuple>
#include <utility>

#include "db/sqlite/backup.hpp"
#include "db/sqlite/parallel_task.hpp"
#include "files/background.hpp"
#include "files/unnamed_file.hpp"
#include "files/whole_file.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::uint64_t min_bytes = std::uint64_t{1} << 20U;  // less is loaded quickly anyway
constexpr int steps_between_writes = 16;
constexpr int cache_kib = 16384;
constexpr std::uint64_t bytes_per_page = 4096;

[[noreturn]] void throw_unsound(const std::string& why) {
  throw Error(Code::internal, "the tables that were built are not sound: " + why +
                                  "; nothing was kept, set COMPTROLLER_ONLY_SQL=1 and load again");
}

// The disk writes a file while more is added to it, so that its fsync takes less time.
void begin_to_write([[maybe_unused]] std::FILE* file) {
#ifdef SYNC_FILE_RANGE_WRITE
  ::sync_file_range(::fileno(file), 0, 0, SYNC_FILE_RANGE_WRITE);
#endif
}

// Opens a private file without locks and without a journal.
std::unique_ptr<SqliteConnection> open_private(const std::string& path, const char* vfs) {
  auto connection = std::make_unique<SqliteConnection>(
      private_uri(path), SQLITE_OPEN_READWRITE | SQLITE_OPEN_URI | SQLITE_OPEN_NOFOLLOW, vfs);
  connection->execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  connection->execute("PRAGMA cache_size = -" + std::to_string(cache_kib));
  return connection;
}

}  // namespace

// Creates the private file. Returns false if it cannot be created; statements may still succeed.
bool PrivateCopy::open() {
  folder_ = std::filesystem::path(path_).parent_path().string();
  const std::string name = path_ + private_copy_suffix;
  ::unlink(name.c_str());  // left by a process that was killed
  descriptor_ = ::open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return false;
  const auto unlink = [](const std::string* path) { ::unlink(path->c_str()); };
  const std::unique_ptr<const std::string, decltype(unlink)> unlinked(&name, unlink);
  connection_ = open_private(name, nullptr);
  // These two read the file only when it is complete.
  verifier_ = open_private(name, sqlite_format::buffered_files());
  source_ = open_private(name, sqlite_format::buffered_files());
  return files::leads_to(name, descriptor_);
}

PrivateCopy::~PrivateCopy() {
  connection_.reset();
  verifier_.reset();
  source_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::unique_ptr<PrivateCopy> PrivateCopy::make(SqliteConnection& live, const Filling& filling) {
  if (filling.table.empty() || filling.bytes < min_bytes) return nullptr;
  const auto bytes =
      static_cast<std::uint64_t>(live.read_number("PRAGMA page_count")) * bytes_per_page;
  if (bytes > filling.bytes || live.has_rows(filling.table)) return nullptr;
  std::unique_ptr<PrivateCopy> copy(new PrivateCopy(sqlite3_db_filename(live.handle(), "main")));
  const bool is_made = copy->open() && copy->copy(live) && copy->begin(filling.table);
  return is_made ? std::move(copy) : nullptr;
}

// Copies the database. Returns false if the file is unusual.
bool PrivateCopy::copy(SqliteConnection& live) {
  // The log can then hold the adoption alone, whose checkpoint gathers its writes. To truncate an
  // empty log would make the copies of other loads outdated.
  std::error_code failure;
  const auto log_size = std::filesystem::file_size(path_ + "-wal", failure);
  if (!failure && log_size > 0) std::ignore = live.truncate_log();
  watch_ = std::make_unique<SqliteConnection>(path_, SQLITE_OPEN_READONLY);
  watch_->keep_log();
  version_ = watch_->read_number("PRAGMA data_version");
  {
    const Backup backup = begin_backup(live, *connection_);
    while (step(backup, pages_per_step, live)) live.check_interrupt();
  }
  return connection_->translate([&] { return sqlite_format::prepare_to_build(descriptor_); });
}

// Begins to fill the table. Returns false if only INSERT can fill it.
bool PrivateCopy::begin(std::string_view table) {
  auto builder = connection_->translate([&] {
    return sqlite_format::Builder::make(connection_->handle(), table,
                                        [folder = folder_] { return files::open_unnamed(folder); });
  });
  if (!builder) return false;
  filler_ = std::make_unique<TableFiller>(std::move(builder), table);
  connection_->query("BEGIN").run();
  connection_->set_filler(filler_.get());
  return true;
}

bool PrivateCopy::take_rows(PrivateCopy& before) {
  return connection_->symbols().add_new(before.connection_->symbols()) &&
         filler_->builder().take_rows(before.filler_->builder());
}

void PrivateCopy::finish() {
  if (std::exchange(is_built_, true)) return;
  connection_->set_filler(nullptr);
  connection_->query("COMMIT").run();  // writes all its pages
  connection_->translate(
      [&] { filler_->builder().write(descriptor_, [&] { connection_->check_interrupt(); }); });
  connection_->query("BEGIN").run();
}

// Throws unless SQLite finds the tables that were built sound.
void PrivateCopy::verify() {
  try {
    filler_->builder().verify(verifier_->handle());
  } catch (const sqlite_format::Failure& failure) {
    if (failure.result() == SQLITE_INTERNAL) throw_unsound(failure.what());
    verifier_->fail(failure);
  }
}

int PrivateCopy::adopt(SqliteConnection& live, const OpenFile& file) {
  connection_->query("COMMIT").run();
  ParallelTask verified([this] { verify(); }, [this] { sqlite3_interrupt(verifier_->handle()); });
  SqliteConnection target(path_, SQLITE_OPEN_READWRITE, sqlite_format::buffered_files());
  target.set_interrupt(live.interrupt());
  target.keep_log();
  target.commit_durably();
  Backup backup = begin_backup(*source_, target);
  step(backup, 0, target);
  file.require_place();
  // The lock of this transaction now prevents other writes.
  if (!is_current()) {
    throw Error(
        Code::unavailable,
        "another program wrote to the store, or truncated its log, during the load; nothing was "
        "kept, try again");
  }
  const std::unique_ptr<std::FILE, Release<std::fclose>> log(
      std::fopen((path_ + "-wal").c_str(), "re"));
  for (int steps = 1; sqlite3_backup_remaining(backup.get()) > pages_per_step; ++steps) {
    live.check_interrupt();
    step(backup, pages_per_step, target);
    if (log && steps % steps_between_writes == 0) begin_to_write(log.get());
  }
  verified.wait(std::chrono::milliseconds(10), [&] { live.check_interrupt(); });
  const int pages = sqlite3_backup_pagecount(backup.get());
  while (step(backup, -1, target)) {
  }
  backup.reset();
  return empty_log(target).value_or(pages);
}

// The load is stored: lack of memory must not make it fail.
std::optional<int> PrivateCopy::empty_log(SqliteConnection& target) noexcept {
  try {
    // Frees the pages of the private file, which is not read again, during the checkpoint.
    const std::future<void> freed =
        files::run_in_background([this] { std::ignore = ::ftruncate(descriptor_, 0); });
    const std::optional<int> frames = target.truncate_log();
    freed.wait();
    return frames;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

}  // namespace comptroller::db::sqlite
