// A claim has a copy of its payout group's jurisdiction, so that an index serves lists by
// jurisdiction. After a change of the group its claims are rewritten in bounded parts, each in a
// write of its own. Until the last part the group is in transition, and its claims may have the
// previous jurisdiction.
#pragma once

#include "store/listing.hpp"

namespace comptroller::store {

// Rewrites the first claims of a group (a symbol) after its jurisdiction changed; returns whether
// no more claims remain. If claims remain, the group is in transition.
bool begin_jurisdiction_change(db::Connection& connection, std::int64_t group);

// Rewrites the next claims of one group in transition; returns whether more remain.
bool continue_jurisdiction_changes(db::Connection& connection);

bool has_jurisdiction_changes(db::Connection& connection);

// Selects the claims of a jurisdiction while groups are in transition.
ListFilter claims_of_jurisdiction(db::Connection& connection, const Label& jurisdiction,
                                  const Ownership& ownership);

}  // namespace comptroller::store
