// Bringing a file to the newest schema.
#pragma once

#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

int newest_schema_version();

// The version of a file's schema, 0 for an empty file. Throws unavailable, naming `path`, when it
// is no store of ours or a newer one.
int schema_version(SqliteConnection& connection, const std::string& path);

// Throws unavailable, naming `path`, if a file there is no store of ours and no empty file. Makes
// no file and takes no lock; a file that another process is writing may pass.
void refuse_foreign(const std::string& path);

// Makes the file use a write-ahead log, under the commit lock. Throws unavailable, naming `path`,
// if it cannot have one.
void use_write_ahead_log(SqliteConnection& connection, const std::string& path);

// Runs the migrations a file lacks in one transaction. Under both locks.
void migrate(SqliteConnection& connection, const std::string& path);

}  // namespace comptroller::db::sqlite
