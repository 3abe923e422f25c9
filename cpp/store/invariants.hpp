// Invariants between the rows of a store.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/database.hpp"
#include "model/fields.hpp"

namespace comptroller::store {

struct Finding {
  RECORD(Finding);
  FIELD(std::string, check);
  FIELD(std::string, message);
};

// Returns a finding for each violated invariant, with the number of rows and the first of them.
std::vector<Finding> broken_invariants(db::Connection& connection);

// Returns the number of rows of each table of records.
std::vector<std::pair<std::string_view, std::int64_t>> table_sizes(db::Connection& connection);

}  // namespace comptroller::store
