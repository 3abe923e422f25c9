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
// Whether groups of these customers are in transition.
bool has_jurisdiction_changes(db::Connection& connection, const Ownership& ownership);

// Adds the filter by jurisdiction to a list of claims while groups of its customers are in
// transition.
// The list reads the claims that have a copy of the jurisdiction, and those of the groups in
// transition to it. The jurisdiction of the claim's group decides.
void filter_by_jurisdiction(Listing& claims, const Label& jurisdiction);

}  // namespace comptroller::store
