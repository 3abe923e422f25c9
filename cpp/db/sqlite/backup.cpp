#include "db/sqlite/backup.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "db/sqlite/lock_file.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

namespace filesystem = std::filesystem;

constexpr int pages_a_step = 1024;

void sync_to_disk(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  const bool is_synced = descriptor >= 0 && ::fsync(descriptor) == 0;
  if (descriptor >= 0) ::close(descriptor);
  if (!is_synced) throw Error(Code::unavailable, "cannot write " + path + " to disk");
}

void copy(SqliteConnection& source, const std::string& path) {
  SqliteConnection target(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  sqlite3_backup* backup = sqlite3_backup_init(target.handle(), "main", source.handle(), "main");
  if (backup == nullptr) throw_failure(sqlite3_errcode(target.handle()));
  // One reading transaction from the first step to the last: the copy is of one moment.
  const Snapshot snapshot(source);
  source.query("SELECT count(*) FROM customers").step();
  int result = SQLITE_OK;
  while (result == SQLITE_OK) result = sqlite3_backup_step(backup, pages_a_step);
  sqlite3_backup_finish(backup);
  if (result != SQLITE_DONE) throw_failure(result);
}

void remove_unfinished(const std::string& path) {
  std::error_code ignored;
  filesystem::remove(path, ignored);
  filesystem::remove(path + "-journal", ignored);
}

}  // namespace

void back_up(SqliteConnection& source, const std::string& destination) {
  if (destination.empty()) throw Error::invalid("destination", "must name a file");
  if (filesystem::exists(destination)) {
    throw Error(Code::unavailable, destination + " exists already; choose another name");
  }
  const std::string unfinished = destination + ".part";
  bool is_begun = false;
  try {
    // Two backups to one name must not write one file; what a dead one left is taken over.
    LockFile part(unfinished, false);
    const LockFile::Hold hold(part, std::try_to_lock);
    if (!hold.is_held()) throw Error(Code::unavailable, "another backup is writing it");
    is_begun = true;
    filesystem::resize_file(unfinished, 0);
    copy(source, unfinished);
    sync_to_disk(unfinished);
    filesystem::rename(unfinished, destination);
    sync_to_disk(filesystem::absolute(destination).parent_path().string());
  } catch (const std::exception& failure) {
    if (is_begun) remove_unfinished(unfinished);
    throw Error(Code::unavailable, "cannot back up to " + destination + ": " + failure.what());
  }
}

}  // namespace comptroller::db::sqlite
