// Values of STRICT tables that are not of the type of their column. SQLite refuses to store them,
// but a damaged file may have them, and the rows of a table that became STRICT.
#pragma once

#include <string>
#include <vector>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// Returns a sentence for each column that has such values, with their number and the key of the
// first. Reads all rows. ANY is text or a blob.
std::vector<std::string> find_wrong_types(SqliteConnection& connection);

}  // namespace comptroller::db::sqlite
