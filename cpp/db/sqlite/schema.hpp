// Recognises the file of a store and migrates it to the newest schema.
#pragma once

#include <cstdint>
#include <string>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

// Identifies a file as a comptroller store: "cmpt".
inline constexpr std::int32_t application_id = 0x636d7074;

int newest_schema_version();

// Whether the file has no tables, and no program has marked it as its own.
bool is_empty(SqliteConnection& connection);

// Returns the version of a file's schema; 0 for an empty file. Throws unusable, naming `path`, for
// a file that is not a store or has a newer version.
int schema_version(SqliteConnection& connection, const std::string& path);

// Throws unusable if the content, which a restore may have replaced while the file was open, is not
// a store of the newest schema. The message contains no path.
void require_newest_schema(SqliteConnection& connection);

// Throws unusable, naming `path`, if the file is neither a store nor empty. Creates no file and
// takes no lock. A file that another process is writing, or with a journal, may pass.
void refuse_foreign(const std::string& path);

// Throws unusable, naming `path`, if the file is a copy of a new store without its log, which has
// the content. If its creation ended early, it has an empty log and lock files
// (`was_locked_before`). Called with the opening lock held, which excludes the creation by another
// process.
void refuse_without_log(const std::string& path, bool was_locked_before);

// Makes the file use a write-ahead log. Called with the opening lock held. Throws unusable, naming
// `path`, if the file cannot have one.
void use_write_ahead_log(SqliteConnection& connection, const std::string& path);

// Runs the missing migrations in one transaction. Called with both locks held.
void migrate(SqliteConnection& connection, const std::string& path);

}  // namespace comptroller::db::sqlite
