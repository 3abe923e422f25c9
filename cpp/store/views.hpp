// For people with sqlite3, Datasette or DuckDB: each table as a view of text ids, ISO times and
// words. The views are written from the field tables, so they cannot disagree with the records.
#pragma once

#include "db/database.hpp"

namespace comptroller::store {

// Whether the store's views are not those of this version.
bool views_are_stale(db::Connection& connection);
// Makes the views, in place of those that are there.
void make_views(db::Connection& connection);

}  // namespace comptroller::store
