// The migrations from an empty database to the current schema: the files NNNN_name.sql of the
// folder migrations, embedded in the binary. The first one makes the schema that the same version
// of SQLite's has; later ones have the same numbers and names.
#pragma once

#include <span>

#include "db/migration.hpp"

namespace comptroller::db::postgresql {

// Returns all migrations in order of version; valid for the lifetime of the process.
std::span<const Migration> migrations();

}  // namespace comptroller::db::postgresql
