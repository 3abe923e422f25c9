// Copies the rows of a whole store to an empty one, of any engine.
#pragma once

#include <cstdint>
#include <functional>

#include "db/database.hpp"

namespace comptroller::store {

// Whether nobody has opened the store for writing, apart from making its tables.
bool is_unused(db::Connection& connection);

// Called with the number of rows copied so far; may throw.
using CopyProgress = std::function<void(std::uint64_t rows)>;

// Copies all rows of the snapshot `from` in the write transaction of `to`, whose symbols must be
// its own (db::Filling). Throws unusable if the tables differ.
void copy_rows(db::Connection& from, db::Connection& to, const CopyProgress& progress);

}  // namespace comptroller::store
