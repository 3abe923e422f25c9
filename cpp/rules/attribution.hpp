// Payout groups, and reward addresses that are attributed to them (specification 2.3, 2.4). Pure.
#pragma once

#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

// Checks and canonicalises the addresses of a group or an address for their ledger, and gives a new
// one what it has from the start: a status, a balance, the addresses that default to the claimer's.
// Refuses: invalid_request naming the member.
void complete(PayoutGroup& group);
void complete(RewardAddress& address);

PayoutGroup create_group(const CreatePayoutGroup& request, Timestamp now, std::string id);
// Sets what is given; a request without a member changes nothing, not even updated_at.
PayoutGroup update_group(PayoutGroup group, const UpdatePayoutGroup& request, Timestamp now);
PayoutGroup observe_group(PayoutGroup group, const ObservePayoutGroup& request, Timestamp now);

RewardAddress create_address(const CreateRewardAddress& request, Timestamp now, std::string id);
// A new group makes the status PENDING again.
RewardAddress update_address(RewardAddress address, const UpdateRewardAddress& request);

// Refuses an address of another ledger than its group's: ledger_mismatch.
void check_attribution(const RewardAddress& address, const PayoutGroup& group);

}  // namespace comptroller::rules
