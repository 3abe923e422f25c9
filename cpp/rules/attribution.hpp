// Payout groups, and reward addresses that are attributed to them (specification 2.3, 2.4). Pure.
#pragma once

#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

// Validates the addresses of a record on its ledger and converts them to their canonical form. Sets
// the defaults of a new record: status, balance, and the addresses that default to claimer_address.
// Throws invalid_request, which names the member.
void complete(PayoutGroup& group);
void complete(RewardAddress& address);

PayoutGroup create_group(const CreatePayoutGroup& request, Timestamp now, std::string id);
// Both functions set the members that the request has. A request without members does not change
// updated_at.
PayoutGroup update_group(PayoutGroup group, const UpdatePayoutGroup& request, Timestamp now);
PayoutGroup observe_group(PayoutGroup group, const ObservePayoutGroup& request, Timestamp now);

RewardAddress create_address(const CreateRewardAddress& request, Timestamp now, std::string id);
// A change of the payout group sets the status to PENDING.
RewardAddress update_address(RewardAddress address, const UpdateRewardAddress& request);

// Throws ledger_mismatch unless the address is on its group's ledger.
void check_attribution(const RewardAddress& address, const PayoutGroup& group);

}  // namespace comptroller::rules
