#include "rules/claims.hpp"

#include "model/error.hpp"
#include "rules/changes.hpp"

namespace comptroller::rules {

namespace {

void move(Claim& claim, ClaimStatus to, Timestamp now) {
  if (!may_move(claim.onchain_status, to)) {
    throw Error(Code::illegal_transition, "a claim that is " +
                                              std::string(word(claim.onchain_status)) +
                                              " cannot become " + std::string(word(to)));
  }
  claim.onchain_status = to;
  claim.updated_at = changed_at(now, claim.updated_at);
}

}  // namespace

bool may_move(ClaimStatus from, ClaimStatus to) {
  switch (from) {
    case ClaimStatus::pending:
      return to == ClaimStatus::submitted || to == ClaimStatus::failed;
    case ClaimStatus::submitted:
      return to == ClaimStatus::confirmed || to == ClaimStatus::failed;
    default:
      return false;
  }
}

bool may_arrive(ClaimStatus from, ClaimStatus to) {
  return from == to || may_move(from, to) ||
         (from == ClaimStatus::pending && to == ClaimStatus::confirmed);
}

Claim submit_claim(Claim claim, const SubmitClaim& request, Timestamp now) {
  move(claim, ClaimStatus::submitted, now);
  claim.tx_hash = TransactionHash{request.tx_hash.value};
  claim.submitted_at = request.at.value_or(now);
  return claim;
}

Claim confirm_claim(Claim claim, const ConfirmClaim& request, Timestamp now) {
  move(claim, ClaimStatus::confirmed, now);
  claim.confirmed_at = request.at.value_or(now);
  return claim;
}

Claim fail_claim(Claim claim, const FailClaim& request, Timestamp now) {
  move(claim, ClaimStatus::failed, now);
  claim.error_message = request.error_message;
  return claim;
}

std::optional<Timestamp> claims_all_at(const Claim& claim) {
  if (claim.onchain_status != ClaimStatus::confirmed || claim.claim_type.value != "CLAIM_ALL") {
    return std::nullopt;
  }
  return claim.confirmed_at;
}

}  // namespace comptroller::rules
