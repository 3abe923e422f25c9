// A claim carries its payout group's jurisdiction, so that claims are listed by it through an
// index. After a change of the group its claims are rewritten in bounded parts, each in a write of
// its own: until the last part the group is in transition, and its claims may carry the
// jurisdiction before.
#pragma once

#include "store/listing.hpp"

namespace comptroller::store {

// Rewrites the first claims of a group (a symbol) whose stored jurisdiction changed; gives whether
// these are all. If not, the group is in transition from now on.
bool begin_jurisdiction_change(db::Connection& connection, std::int64_t group);

// Rewrites the next claims of one group in transition; gives whether more remain.
bool continue_jurisdiction_changes(db::Connection& connection);

bool has_jurisdiction_changes(db::Connection& connection);

// Selects the claims of a jurisdiction while groups are in transition.
ListFilter claims_of_jurisdiction(db::Connection& connection, const Label& jurisdiction,
                                  const Ownership& ownership);

}  // namespace comptroller::store
