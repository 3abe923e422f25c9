// A copy of a database in a new file.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// Copies the database that `source` reads, as one snapshot shows it, into a new file that appears
// under its name, durably, when it is whole. Throws unavailable, naming the destination, if it
// exists already or cannot be written, and what interrupts `source`.
void back_up(SqliteConnection& source, const std::string& destination);

}  // namespace comptroller::db::sqlite
