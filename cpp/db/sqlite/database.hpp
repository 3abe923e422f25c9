// Opens an SQLite file as a Database.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

struct OpenOptions {
  bool read_only = false;
  // Uses a private file, which is removed when the database is closed, in this folder or else in
  // the temporary one.
  bool is_temporary = false;
  std::string temporary_folder = {};
  // Called every 100 ms by a thread that waits for others or runs a long statement. An exception
  // ends the wait or the statement and is thrown to the caller. A write that another thread is
  // already committing is kept nevertheless.
  std::function<void()> check_interrupt = {};
  // The total limit for the waits of a write: for its turn, for locks, and for locks of other
  // programs.
  std::chrono::milliseconds max_wait = std::chrono::seconds(30);
};

// Opens the file. Creates a missing file and migrates it to the newest schema. Throws unusable,
// naming the path, for a file that is not a store, for a newer schema version, for an older version
// or a missing file if `read_only`, and if the folder is not writable.
std::unique_ptr<Database> open(const std::string& path, const OpenOptions& options);

}  // namespace comptroller::db::sqlite
