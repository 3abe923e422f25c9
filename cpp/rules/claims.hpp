// The transitions of a reward claim: PENDING -> SUBMITTED -> CONFIRMED or FAILED, and PENDING ->
// FAILED (specification 3.3). Pure.
#pragma once

#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

// Whether an operation may change one status to the other.
bool is_transition(ClaimStatus from, ClaimStatus to);

// Whether a load may change one status to the other: to the same or any later one.
bool is_loadable_transition(ClaimStatus from, ClaimStatus to);

// These functions return the claim after the transition; its updated_at is that of a change made at
// `now`. They throw illegal_transition.
Claim submit_claim(Claim claim, const SubmitClaim& request, Timestamp now);
Claim confirm_claim(Claim claim, const ConfirmClaim& request, Timestamp now);
Claim fail_claim(Claim claim, const FailClaim& request, Timestamp now);

// Returns confirmed_at of a CONFIRMED CLAIM_ALL claim, nullopt for other claims. The
// last_claim_all_at of the group is never earlier.
std::optional<Timestamp> claim_all_confirmed_at(const Claim& claim);

}  // namespace comptroller::rules
