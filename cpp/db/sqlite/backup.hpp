// Copies databases with sqlite3_backup.
#pragma once

#include <memory>
#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

using Backup = std::unique_ptr<sqlite3_backup, Release<sqlite3_backup_finish>>;

inline constexpr int pages_per_step = 256;  // 1 MiB

Backup begin_backup(SqliteConnection& from, SqliteConnection& to);
// Copies at most `pages` pages; returns false at the end. `waiting` is the connection that may wait
// for a lock.
bool step(const Backup& backup, int pages, SqliteConnection& waiting);

// Copies one snapshot of the database that `source` reads into a new file. The file appears under
// its name, durably, when it is complete. Throws unusable or unavailable, naming the destination,
// if it exists already or cannot be written, and the exception that interrupts `source`. `observe`
// is called with `source` in this snapshot.
void back_up(SqliteConnection& source, const std::string& destination,
             const Database::Observe& observe);

}  // namespace comptroller::db::sqlite
