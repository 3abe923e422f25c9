// Payout groups (specification 2.3, 4.3), and what of them claims carry along or raise.
#pragma once

#include "model/requests.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing payout_groups_listing(db::Connection& connection, ListPayoutGroups request,
                              Ownership ownership);

// Adds a group and adopts the claims that named it before it came: they get its jurisdiction, it
// their latest confirmation. Refuses with already_exists a group whose claims or addresses belong
// to another customer, or are on another ledger.
void insert_payout_group(db::Connection& connection, PayoutGroup group);

// Replaces a group; its claims get its jurisdiction where that changed.
void update_payout_group(db::Connection& connection, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after);

// Raises the group's last_claim_all_at to what its claims have confirmed already.
void raise_to_claims(db::Connection& connection, PayoutGroup& group);

// Raises last_claim_all_at to a confirmation that is later; a group that is not there yet will find
// it.
void raise_last_claim_all(db::Connection& connection, std::string_view group_id, Timestamp at);

// What a claim or an address needs to know of the group it names.
struct GroupFacts {
  bool is_known = false;
  std::int64_t customer = 0;                 // symbol
  std::optional<std::int64_t> jurisdiction;  // symbol
};
GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol);

}  // namespace comptroller::store
