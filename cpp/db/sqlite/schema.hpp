// Recognising a store's file and migrating it to the newest schema.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

int newest_schema_version();

// The version of a file's schema; 0 for an empty file. Throws unavailable, naming `path`, for a
// file that is not a store or has a newer version.
int schema_version(SqliteConnection& connection, const std::string& path);

// Throws unavailable, naming `path`, if the file is neither a store nor empty. Creates no file and
// takes no lock. A file that another process is writing may pass.
void refuse_foreign(const std::string& path);

// Makes the file use a write-ahead log, under the commit lock. Throws unavailable, naming `path`,
// if it cannot have one.
void use_write_ahead_log(SqliteConnection& connection, const std::string& path);

// Runs the missing migrations in one transaction. Under both locks.
void migrate(SqliteConnection& connection, const std::string& path);

}  // namespace comptroller::db::sqlite
