// A copy of a database in a new file.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// Copies all of the database that `source` reads, as it is at one moment, into a new file that is
// on disk, under its name, on return. Nothing has the name before that. Throws unavailable, naming
// the destination, if it exists already or cannot be written.
void back_up(SqliteConnection& source, const std::string& destination);

}  // namespace comptroller::db::sqlite
