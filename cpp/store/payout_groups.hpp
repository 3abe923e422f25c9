// Payout groups (specification 2.3, 4.3), and the columns that depend on both groups and claims.
#pragma once

#include "model/requests.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing payout_groups_listing(db::Connection& connection, const ListPayoutGroups& request,
                              Ownership ownership);

// Adds a group. Claims that named it before get its jurisdiction, it gets their latest
// confirmation. Refuses with already_exists a group whose claims or addresses belong to another
// customer, with ledger_mismatch one whose addresses are on another ledger. Like the next, gives
// whether all claims carry the group's jurisdiction; if not, continue_jurisdiction_changes goes on.
bool insert_payout_group(db::Connection& connection, PayoutGroup group);

// Replaces a group; its claims get its jurisdiction if that changed.
bool update_payout_group(db::Connection& connection, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after);

// Raises last_claim_all_at of a group that is to be stored to what its claims have confirmed.
void raise_to_claims(db::Connection& connection, PayoutGroup& group);

// A CLAIM_ALL claim of the group (a symbol) was confirmed at this time: raises last_claim_all_at. A
// group that is not stored yet takes it when it is inserted.
void raise_last_claim_all(db::Connection& connection, std::int64_t group, Timestamp at);
// A CLAIM_ALL claim of the group is no longer confirmed at this time: a load corrected or moved it.
// Reads all confirmed claims of the group if this was the latest.
void withdraw_claim_all(db::Connection& connection, std::int64_t group, Timestamp at);

// What a write of a claim or an address reads of its group.
struct GroupFacts {
  bool is_known = false;
  std::int64_t customer = 0;                 // symbol
  std::optional<std::int64_t> jurisdiction;  // symbol
};
GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol);

}  // namespace comptroller::store
