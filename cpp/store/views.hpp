// The readable views of all tables, for sqlite3, Datasette or DuckDB. They are generated from the
// field tables of the records.
#pragma once

#include <vector>

#include "db/readable_view.hpp"

namespace comptroller::store {

std::vector<db::ReadableView> readable_views();

}  // namespace comptroller::store
