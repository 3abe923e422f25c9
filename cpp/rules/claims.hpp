// The path of a reward claim: PENDING -> SUBMITTED -> CONFIRMED or FAILED, and PENDING -> FAILED
// (specification 3.3). Pure.
#pragma once

#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

// Whether a move made here may lead from one status to the other.
bool may_move(ClaimStatus from, ClaimStatus to);

// Whether a loaded claim may lead from one status to the other: any way forward, or none.
bool may_arrive(ClaimStatus from, ClaimStatus to);

// The claim after the move; updated_at becomes that of a change made `now`. Refuse:
// illegal_transition.
Claim submit_claim(Claim claim, const SubmitClaim& request, Timestamp now);
Claim confirm_claim(Claim claim, const ConfirmClaim& request, Timestamp now);
Claim fail_claim(Claim claim, const FailClaim& request, Timestamp now);

// The claim's confirmation where it counts for its group's last_claim_all_at, else nothing.
std::optional<Timestamp> claims_all_at(const Claim& claim);

}  // namespace comptroller::rules
