// The indexes of an operator's lists over many customers. Each index of a list that begins with the
// customer has a counterpart without it, named "list_<number>_of_all". A store with at most 16
// customers does not need them, because a list merges the rows of each customer.
#pragma once

#include <limits>

#include "db/database.hpp"

namespace comptroller::store {

// The most customers whose rows an operator's list merges; a store with more has the indexes.
inline constexpr std::int64_t max_merged_customers = 16;

// SQL that is true if the store has the indexes.
inline constexpr const char* has_operator_indexes =
    "coalesce((SELECT max(state) FROM operator_indexes), 0) = 1";

// Whether the store has more than 16 customers, and neither has the indexes nor defers them.
bool lacks_operator_indexes(db::Connection& connection);

// Makes the indexes if there are more than 16 customers and no table has more than `max_rows`
// rows. Inside a write transaction.
void make_operator_indexes(db::Connection& connection,
                           std::int64_t max_rows = std::numeric_limits<std::int64_t>::max());

// Starts and ends a deferral, during which make_operator_indexes does nothing. A load makes all
// indexes at its end.
void defer_operator_indexes(db::Connection& connection);
void resume_operator_indexes(db::Connection& connection);

}  // namespace comptroller::store
