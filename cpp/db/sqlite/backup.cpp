#include "db/sqlite/backup.hpp"

#include <memory>

#include "files/whole_file.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr int pages_a_step = 256;                // 1 MiB
constexpr int steps_between_synchronising = 16;  // keeps each wait for the disk short

struct FinishBackup {
  void operator()(sqlite3_backup* backup) const { sqlite3_backup_finish(backup); }
};

void copy(SqliteConnection& source, files::WholeFile& file) {
  // No other process uses the file before it has its name, so it needs neither a journal nor
  // SQLite's fsync.
  SqliteConnection target(file.unfinished_path(), SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
  target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  if (!file.is_unfinished_path_ours()) throw Error(Code::unusable, "its file was replaced");
  const Snapshot snapshot(source);
  source.read_now();
  const std::unique_ptr<sqlite3_backup, FinishBackup> backup(
      sqlite3_backup_init(target.handle(), "main", source.handle(), "main"));
  if (!backup) target.fail(sqlite3_errcode(target.handle()));
  int result = SQLITE_OK;
  for (int step = 1; result == SQLITE_OK; ++step) {
    source.check_interrupt();
    if (step % steps_between_synchronising == 0) file.synchronise();
    result = sqlite3_backup_step(backup.get(), pages_a_step);
  }
  if (result != SQLITE_DONE) throw_failure(result);
}

}  // namespace

void back_up(SqliteConnection& source, const std::string& destination) {
  if (destination.empty()) throw Error::invalid("destination", "must name a file");
  files::WholeFile file(destination, files::WholeFile::Existing::refuse);
  try {
    copy(source, file);
  } catch (const Error& failure) {
    throw Error(failure.code(), "cannot back up to " + destination + ": " + failure.what());
  }
  file.commit();
}

}  // namespace comptroller::db::sqlite
