// What holds between the rows of a sound store.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/database.hpp"
#include "model/fields.hpp"

namespace comptroller::store {

struct Finding {
  std::string check;
  std::string message;

  using fields = Fields<Field<&Finding::check>, Field<&Finding::message>>;
};

// Every promise that is broken, once, with the number of rows that break it and the first of them.
std::vector<Finding> broken_invariants(db::Connection& connection);

// The tables of records and how many rows each has.
std::vector<std::pair<std::string_view, std::int64_t>> table_sizes(db::Connection& connection);

}  // namespace comptroller::store
