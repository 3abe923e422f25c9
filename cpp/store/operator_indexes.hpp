// The indexes of an operator's lists over many customers: each index of a list that begins with the
// customer has a counterpart without it, named "<index>_of_all". Up to 16 customers a list merges
// the rows of each, so that a store with few of them does without these indexes.
#pragma once

#include <limits>

#include "db/database.hpp"

namespace comptroller::store {

// An operator's list merges the rows of so many customers; a store with more has the indexes.
inline constexpr std::int64_t most_merged_customers = 16;

bool has_operator_indexes(db::Connection& connection);

// Whether a list has to read more customers than it should: make_operator_indexes makes the
// indexes.
bool lacks_operator_indexes(db::Connection& connection);

// Makes the indexes if there are more than 16 customers and no table has more than `most_rows`
// rows. Inside a write transaction.
void make_operator_indexes(db::Connection& connection,
                           std::int64_t most_rows = std::numeric_limits<std::int64_t>::max());

// Between these two make_operator_indexes does nothing: a load makes all indexes at its end.
void defer_operator_indexes(db::Connection& connection);
void resume_operator_indexes(db::Connection& connection);

}  // namespace comptroller::store
