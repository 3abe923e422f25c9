// The steps from an empty file to the present schema: cpp/db/migrations/NNNN_name.sql, embedded.
#pragma once

#include <span>
#include <string_view>

namespace comptroller::db {

struct Migration {
  int version;            // 1, 2, 3, ... without a gap
  std::string_view name;  // of the file, without number and suffix
  std::string_view sql;   // statements, to be run in one transaction
};

// All of them, in order of version; never empty. Lives as long as the process.
std::span<const Migration> migrations();

}  // namespace comptroller::db
