// An SQLite file as a Database.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

// Marks a file as a store of ours: "cmpt".
inline constexpr std::int32_t application_id = 0x636d7074;

struct OpenOptions {
  bool read_only = false;
  // A private file in the temporary folder, removed when the database is closed.
  bool is_temporary = false;
  // Called every 100 ms by a thread that waits for others or runs a long statement, on that thread.
  // What it throws ends the wait or the statement and is thrown to the caller; a write that another
  // thread is committing already is kept all the same.
  std::function<void()> check_interrupt = {};
  // For all that a write waits for together: its turn, locks, and other programs' locks.
  std::chrono::milliseconds longest_wait = std::chrono::seconds(30);
};

// Opens the file; creates it if it is missing and migrates it to the newest schema. Throws
// unavailable, naming the path, for a file that is not a store, for a newer version, for an older
// version or a missing file if `read_only`, and if the folder cannot be written.
std::unique_ptr<Database> open(const std::string& path, const OpenOptions& options);

}  // namespace comptroller::db::sqlite
