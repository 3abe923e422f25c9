// What holds between the rows of a sound store.
#pragma once

#include <string>
#include <vector>

#include "db/database.hpp"

namespace comptroller::store {

struct Finding {
  std::string check;
  std::string message;
};

// Every promise that is broken, once, with the number of rows that break it and the first of them.
std::vector<Finding> broken_invariants(db::Connection& connection);

// The tables of records and how many rows each has.
struct TableSize {
  std::string table;
  std::int64_t rows = 0;
};
std::vector<TableSize> table_sizes(db::Connection& connection);

}  // namespace comptroller::store
