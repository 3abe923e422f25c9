#include "db/sqlite/backup.hpp"

#include <filesystem>

#include "files/whole_file.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr int steps_between_synchronising = 16;  // keeps each wait for the disk short

void copy(SqliteConnection& source, files::WholeFile& file, const Database::Observe& observe) {
  // No other process uses the file before it has its name, so it needs neither a journal nor
  // SQLite's fsync.
  // SQLite would take a relative path such as file:name for a URI.
  const std::string path = std::filesystem::absolute(file.unfinished_path()).string();
  SqliteConnection target(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOFOLLOW);
  target.execute("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
  if (!file.is_unfinished_path_ours()) {
    throw Error(Code::unavailable, "its unfinished file was replaced; try again");
  }
  const Snapshot snapshot(source);
  const Backup backup = begin_backup(source, target);
  for (int steps = 1; step(backup, pages_per_step, source); ++steps) {
    source.check_interrupt();
    if (steps % steps_between_synchronising == 0) file.synchronise();
  }
  source.check_state();
  if (observe) observe(source);
}

}  // namespace

Backup begin_backup(SqliteConnection& from, SqliteConnection& to) {
  Backup backup(sqlite3_backup_init(to.handle(), "main", from.handle(), "main"));
  if (!backup) to.fail(sqlite3_errcode(to.handle()));
  return backup;
}

bool step(const Backup& backup, int pages, SqliteConnection& waiting) {
  const int result = sqlite3_backup_step(backup.get(), pages);
  if (result != SQLITE_OK && result != SQLITE_DONE) waiting.fail(result);
  return result == SQLITE_OK;
}

void back_up(SqliteConnection& source, const std::string& destination,
             const Database::Observe& observe) {
  files::WholeFile file(destination, files::WholeFile::Existing::refuse);
  try {
    copy(source, file, observe);
  } catch (const Error& failure) {
    throw Error(failure.code(), "cannot back up to " + destination + ": " + failure.what());
  }
  file.commit();
}

}  // namespace comptroller::db::sqlite
