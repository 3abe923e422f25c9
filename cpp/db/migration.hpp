// A step from one version of a driver's schema to the next.
#pragma once

#include <string_view>

namespace comptroller::db {

struct Migration {
  int version;            // each is one more than the one before
  std::string_view name;  // the file name without number and suffix
  std::string_view sql;   // statements to run in one transaction
};

}  // namespace comptroller::db
