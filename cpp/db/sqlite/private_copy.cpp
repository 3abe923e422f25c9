#include "db/sqlite/private_copy.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <tuple>

#include "db/sqlite/backup.hpp"
#include "db/sqlite/buffered_files.hpp"
#include "db/sqlite/work_beside.hpp"
#include "files/whole_file.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::uint64_t min_bytes = std::uint64_t{1} << 20U;  // less is loaded quickly anyway
constexpr int steps_between_writes = 16;
constexpr int cache_kib = 16384;
constexpr std::uint64_t rows_looked_up = 100;
constexpr std::string_view is_not_null = " IS NOT NULL";

[[noreturn]] void throw_unsound(const std::string& why) {
  throw Error(Code::internal, "the tables that were built are not sound: " + why +
                                  "; nothing was kept, load with COMPTROLLER_LOAD_BY_STATEMENTS=1");
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

bool is_switched_off() {
  // NOLINTNEXTLINE(concurrency-mt-unsafe): comptroller never changes the environment
  const char* value = std::getenv("COMPTROLLER_LOAD_BY_STATEMENTS");
  return value != nullptr && std::string_view(value) == "1";
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
  verifier_ = open_private(name, buffered_files());
  source_ = open_private(name, buffered_files());
  return files::leads_to(name, descriptor_);
}

PrivateCopy::~PrivateCopy() {
  connection_.reset();
  verifier_.reset();
  source_.reset();
  if (descriptor_ >= 0) ::close(descriptor_);
}

bool PrivateCopy::suits(const Filling& filling) {
  return !filling.table.empty() && filling.bytes >= min_bytes && !is_switched_off();
}

std::unique_ptr<PrivateCopy> PrivateCopy::make(SqliteConnection& live, const Filling& filling) {
  if (!suits(filling)) return nullptr;
  const auto bytes = static_cast<std::uint64_t>(live.read_number("PRAGMA page_count")) * page_size;
  if (bytes > filling.bytes) return nullptr;
  if (live.query("SELECT 1 FROM " + std::string(filling.table) + " LIMIT 1").step()) {
    return nullptr;
  }
  std::unique_ptr<PrivateCopy> copy(new PrivateCopy(sqlite3_db_filename(live.handle(), "main")));
  const bool is_made = copy->open() && copy->copy(live);
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
  NewPages pages(descriptor_);
  if (!pages.is_usual()) return false;
  pages.finish();
  connection_->set_private_copy(this);
  connection_->query("BEGIN").run();
  return true;
}

std::unique_ptr<TableFiller> PrivateCopy::start(std::string_view table) {
  return TableFiller::make(*connection_, table, folder_);
}

void PrivateCopy::finish(std::unique_ptr<TableFiller> filler) {
  connection_->query("COMMIT").run();  // writes all its pages
  NewPages pages(descriptor_);
  filler->write(pages, [&] { connection_->check_interrupt(); });
  pages.finish();
  filled_ = std::move(filler);
  connection_->query("BEGIN").run();
}

// Throws unless SQLite finds every page sound.
void PrivateCopy::verify() {
  Query query = verifier_->query("PRAGMA quick_check");
  if (!query.step() || query.column(0).bytes != "ok") {
    throw_unsound(std::string(query.column(0).bytes));
  }
}

// Throws unless every index has an entry for each of its rows.
void PrivateCopy::verify_counts() {
  const std::string from = " FROM " + filled_->table();
  std::string in_table = "SELECT count(*)";
  for (const TableFiller::Index& index : filled_->indexes()) {
    in_table.append(", count(").append(index.required ? index.required_name : "*").append(")");
  }
  Query table = verifier_->query(in_table + from + " NOT INDEXED");
  table.step();
  bool is_equal = std::cmp_greater_equal(table.column(0).integer, filled_->rows());
  int column = 0;
  for (const TableFiller::Index& index : filled_->indexes()) {
    std::string in_index = "SELECT count(*)" + from;
    in_index.append(" INDEXED BY ").append(index.name);
    if (index.required) in_index.append(" WHERE ").append(index.required_name) += is_not_null;
    is_equal &= verifier_->read_number(in_index) == table.column(++column).integer;
  }
  if (!is_equal) throw_unsound("they lack rows");
}

// Throws unless each index finds a sample of rows from the whole table, which shows that its order
// is SQLite's.
void PrivateCopy::verify_order() {
  std::string sample = "[";
  for (std::uint64_t i = 0; i < rows_looked_up; ++i) {
    sample.append(std::to_string(1 + filled_->rows() * i / rows_looked_up)).append(",");
  }
  sample.back() = ']';
  const std::string from = "SELECT count(*) FROM json_each($sample) AS sample CROSS JOIN " +
                           filled_->table() + " AS row NOT INDEXED ON row.rowid = sample.value";
  for (const TableFiller::Index& index : filled_->indexes()) {
    std::string entry = " CROSS JOIN " + filled_->table();
    entry.append(" AS entry INDEXED BY ").append(index.name).append(" ON entry.rowid = row.rowid");
    for (const std::string& name : index.names) {
      entry.append(" AND entry.").append(name).append(" IS row.").append(name);
    }
    std::string where;
    if (index.required) {
      entry.append(" AND entry.").append(index.required_name) += is_not_null;
      where.append(" WHERE row.").append(index.required_name) += is_not_null;
    }
    const auto count = [&](std::string sql) {
      sql += where;
      Query query = verifier_->query(sql);
      query.bind("$sample", sample).step();
      return query.column(0).integer;
    };
    if (count(from) != count(from + entry)) {
      throw_unsound("index " + index.name + " does not find its rows");
    }
  }
}

int PrivateCopy::adopt(SqliteConnection& live, const OpenFile& file, LockFile& commit_lock,
                       std::chrono::milliseconds max_wait) {
  connection_->query("COMMIT").run();
  const auto verify_all = [this] {
    verify();
    if (!filled_) return;
    verify_counts();
    verify_order();
  };
  WorkBeside verified(verify_all, [this] { sqlite3_interrupt(verifier_->handle()); });
  SqliteConnection target(path_, SQLITE_OPEN_READWRITE, buffered_files());
  target.set_interrupt(live.interrupt());
  target.keep_log();
  target.commit_durably();
  Backup backup = begin_backup(*source_, target);
  step(backup, 0, target);
  file.require_place();
  // The lock now prevents other writes.
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
  {
    const LockGuard guard(commit_lock, Clock::now() + max_wait);
    while (step(backup, -1, target)) {
    }
    backup.reset();
  }
  // Frees the pages of the private file, which is not read again, during the checkpoint.
  std::future<void> freed =
      files::run_in_background([this] { std::ignore = ::ftruncate(descriptor_, 0); });
  const int frames = target.truncate_log().value_or(pages);
  freed.get();
  return frames;
}

}  // namespace comptroller::db::sqlite
