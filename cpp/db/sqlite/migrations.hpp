// The migrations from an empty database to the current schema: the files NNNN_name.sql of the
// folder migrations, embedded in the binary.
#pragma once

#include <span>

#include "db/migration.hpp"

namespace comptroller::db::sqlite {

// Returns all migrations in order of version, from 1; valid for the lifetime of the process.
std::span<const Migration> migrations();

}  // namespace comptroller::db::sqlite
