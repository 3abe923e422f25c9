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

// How the claims of a jurisdiction are found while groups are in transition: those that carry it,
// unless their group is in transition from it, and those of groups in transition to it that carry
// another one, all of which have at least the status where the rewriting is.
struct JurisdictionClaims {
  struct Group {
    std::int64_t group = 0;  // a symbol
    ClaimStatus from_status = ClaimStatus::pending;
  };
  std::vector<Group> groups;  // in transition to it; if `are_all`, all groups that have it
  bool are_all = false;       // the claims of the groups are all, whatever they carry
};
JurisdictionClaims claims_of_jurisdiction(db::Connection& connection, std::int64_t jurisdiction,
                                          const Ownership& ownership);

}  // namespace comptroller::store
