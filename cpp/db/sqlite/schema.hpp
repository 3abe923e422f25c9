// Recognises the file of a store and migrates it to the newest schema.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

int newest_schema_version();

// Returns the version of a file's schema; 0 for an empty file. Throws unusable, naming `path`, for
// a file that is not a store or has a newer version.
int schema_version(SqliteConnection& connection, const std::string& path);

// Throws unusable, naming `path`, if the file is neither a store nor empty. Creates no file and
// takes no lock. A file that another process is writing may pass.
void refuse_foreign(const std::string& path);

// Makes the file use a write-ahead log. Called with the commit lock held. Throws unusable, naming
// `path`, if the file cannot have one.
void use_write_ahead_log(SqliteConnection& connection, const std::string& path);

// Runs the missing migrations in one transaction. Called with both locks held.
void migrate(SqliteConnection& connection, const std::string& path);

}  // namespace comptroller::db::sqlite
