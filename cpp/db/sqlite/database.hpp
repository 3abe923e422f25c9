// An SQLite file as a Database.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

// What marks a file as a store of ours: "cmpt".
inline constexpr std::int32_t application_id = 0x636d7074;

struct OpenOptions {
  bool read_only = false;
  // A private file in the temporary folder, removed when the database is closed.
  bool is_temporary = false;
  // Called now and then by a thread that waits for others, on that thread; what it throws ends the
  // wait, and nothing is done.
  std::function<void()> while_waiting = {};
};

// Opens the file, makes it if it is missing and brings it to the newest schema. Throws unavailable,
// naming the path, for a file that is no store, one of a newer version, an older one or a missing
// one if `read_only`, and where the folder cannot be written.
std::unique_ptr<Database> open(const std::string& path, const OpenOptions& options);

}  // namespace comptroller::db::sqlite
