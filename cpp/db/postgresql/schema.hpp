// Recognises the tables of a store and migrates them to the newest schema.
#pragma once

#include <span>

#include "db/postgresql/connection.hpp"
#include "db/postgresql/migrations.hpp"

namespace comptroller::db::postgresql {

// Runs the missing migrations in one transaction; several processes may do so at once. Throws
// unusable if the database's schema has tables of another program, or is of a newer version of the
// store, and for an encoding other than UTF-8 or a server older than 13.
void migrate(PostgresqlConnection& connection, std::span<const Migration> steps = migrations());

// Throws unusable if the schema is not the newest.
void require_newest_schema(PostgresqlConnection& connection);
// Throws unusable if another program has migrated the store to a newer schema.
void check_version(PostgresqlConnection& connection);

}  // namespace comptroller::db::postgresql
