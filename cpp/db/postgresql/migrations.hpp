// The migrations from an empty database to the current schema: the files NNNN_name.sql of the
// folder migrations, embedded in the binary. The first one makes the schema that the same version
// of SQLite's has; later ones have the same numbers and names.
#pragma once

#include <span>
#include <string>

#include "db/migration.hpp"

namespace comptroller::db::postgresql {

// Returns all migrations in order of version; valid for the lifetime of the process.
std::span<const Migration> migrations();

// The table that each write locks. It has another name in each version after the first, so that a
// program cannot write a store that another one has migrated meanwhile.
inline std::string writer_lock(int version = migrations().back().version) {
  const std::string name = "journal_writer";
  return version == migrations().front().version ? name : name + "_" + std::to_string(version);
}

}  // namespace comptroller::db::postgresql
