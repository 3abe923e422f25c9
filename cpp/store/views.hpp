// The readable views of all tables, for sqlite3, Datasette or DuckDB. They are made from the field
// tables, so they cannot disagree with the records.
#pragma once

#include <vector>

#include "db/readable_view.hpp"

namespace comptroller::store {

std::vector<db::ReadableView> readable_views();

}  // namespace comptroller::store
