// Bringing a file to the newest schema.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

int newest_schema_version();

// The version of a file's schema, 0 for an empty file. Throws unavailable, naming `path`, when it
// is no store of ours or a newer one.
int schema_version(SqliteConnection& connection, const std::string& path);

// Runs the migrations a file lacks in one transaction. Under the lock file, as the only user.
void migrate(SqliteConnection& connection, const std::string& path);

}  // namespace comptroller::db::sqlite
