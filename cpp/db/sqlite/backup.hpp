// Backup of a database into a new file.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// Copies one snapshot of the database that `source` reads into a new file. The file appears under
// its name, durably, when it is complete. Throws unusable or unavailable, naming the destination,
// if it exists already or cannot be written, and the exception that interrupts `source`.
void back_up(SqliteConnection& source, const std::string& destination);

}  // namespace comptroller::db::sqlite
