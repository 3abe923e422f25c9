#include "rules/claims.hpp"

#include "model/error.hpp"
#include "rules/changes.hpp"

namespace comptroller::rules {

namespace {

void change_status(Claim& claim, ClaimStatus to, Timestamp now) {
  if (!is_transition(claim.onchain_status, to)) {
    throw Error(Code::illegal_transition, "a claim that is " +
                                              std::string(enum_text(claim.onchain_status)) +
                                              " cannot become " + std::string(enum_text(to)));
  }
  claim.onchain_status = to;
  claim.updated_at = changed_at(now, claim.updated_at);
}

}  // namespace

bool is_transition(ClaimStatus from, ClaimStatus to) {
  if (from == ClaimStatus::pending)
    return to == ClaimStatus::submitted || to == ClaimStatus::failed;
  return from == ClaimStatus::submitted &&
         (to == ClaimStatus::confirmed || to == ClaimStatus::failed);
}

bool is_loadable_transition(ClaimStatus from, ClaimStatus to) {
  return from == to || is_transition(from, to) ||
         (from == ClaimStatus::pending && to == ClaimStatus::confirmed);
}

Claim submit_claim(Claim claim, const SubmitClaim& request, Timestamp now) {
  change_status(claim, ClaimStatus::submitted, now);
  claim.tx_hash = TransactionHash{request.tx_hash.value};
  claim.submitted_at = request.at.value_or(not_before(claim.created_at, now));
  return claim;
}

Claim confirm_claim(Claim claim, const ConfirmClaim& request, Timestamp now) {
  change_status(claim, ClaimStatus::confirmed, now);
  const Timestamp submitted = claim.submitted_at.value_or(claim.created_at);
  claim.confirmed_at = request.at.value_or(not_before(submitted, now));
  return claim;
}

Claim fail_claim(Claim claim, const FailClaim& request, Timestamp now) {
  change_status(claim, ClaimStatus::failed, now);
  claim.error_message = request.error_message;
  return claim;
}

std::optional<Timestamp> claim_all_confirmed_at(const Claim& claim) {
  if (claim.onchain_status != ClaimStatus::confirmed || claim.claim_type.value != "CLAIM_ALL") {
    return std::nullopt;
  }
  return claim.confirmed_at;
}

}  // namespace comptroller::rules
