// Payout groups (specification 2.3, 4.3), and the columns that depend on both groups and claims.
#pragma once

#include "model/records/rewards.hpp"
#include "store/records.hpp"

namespace comptroller::store {

// Inserts a group. Claims that already name the group get its jurisdiction, and the group gets
// their latest confirmation. Throws already_exists if claims or addresses of the group belong to
// another customer, ledger_mismatch if addresses are on another ledger. If the group has many
// claims, continue_jurisdiction_changes rewrites the rest.
void insert_payout_group(Changes& changes, PayoutGroup group);

// Replaces a group. If the jurisdiction changed, its claims get it. Returns whether all claims have
// the group's jurisdiction; if not, continue_jurisdiction_changes rewrites the others.
bool update_payout_group(Changes& changes, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after);

// Raises the last_claim_all_at of a group before it is stored to the latest confirmation of its
// claims.
void raise_to_claims(db::Connection& connection, PayoutGroup& group);

// Raises last_claim_all_at of a group (a symbol) after a CLAIM_ALL claim was confirmed at this
// time. A group that is not stored yet gets the value when it is inserted.
void raise_last_claim_all(Changes& changes, std::int64_t group, Timestamp at);
// Lowers claim_all_confirmed_at of a group after a load changed a CLAIM_ALL claim that was
// confirmed at this time. If it was the latest, reads all confirmed claims of the group.
void withdraw_claim_all(db::Connection& connection, std::int64_t group, Timestamp at);

}  // namespace comptroller::store
