// The readable views of the tables of records, for users of SQL.
#pragma once

#include <vector>

#include "db/readable_view.hpp"

namespace comptroller::store {

// Returns the view of each table, which follows from the fields of its record.
std::vector<db::ReadableView> readable_views();

}  // namespace comptroller::store
