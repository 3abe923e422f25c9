// The transitions of a reward claim: PENDING -> SUBMITTED -> CONFIRMED or FAILED, and PENDING ->
// FAILED (specification 3.3). Pure.
#pragma once

#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

// Whether an operation may change one status to the other.
bool may_move(ClaimStatus from, ClaimStatus to);

// Whether a loaded claim may change one status to the other: to the same or any later one.
bool may_arrive(ClaimStatus from, ClaimStatus to);

// The claim after the transition, with the updated_at of a change made `now`. Throw
// illegal_transition.
Claim submit_claim(Claim claim, const SubmitClaim& request, Timestamp now);
Claim confirm_claim(Claim claim, const ConfirmClaim& request, Timestamp now);
Claim fail_claim(Claim claim, const FailClaim& request, Timestamp now);

// confirmed_at of a CONFIRMED CLAIM_ALL claim, which its group's last_claim_all_at is not before;
// nothing of any other claim.
std::optional<Timestamp> claims_all_at(const Claim& claim);

}  // namespace comptroller::rules
