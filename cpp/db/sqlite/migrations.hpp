// The migrations from an empty database to the current schema: the files NNNN_name.sql of the
// folder migrations, embedded in the binary.
#pragma once

#include <span>
#include <string_view>

namespace comptroller::db::sqlite {

struct Migration {
  int version;            // 1, 2, 3, ... without a gap
  std::string_view name;  // the file name without number and suffix
  std::string_view sql;   // statements to run in one transaction
};

// Returns all migrations in order of version, at least one; valid for the lifetime of the process.
std::span<const Migration> migrations();

}  // namespace comptroller::db::sqlite
