#include "rules/claims.hpp"

#include <doctest/doctest.h>

#include "rules/loads.hpp"
#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

Claim claim_that_is(ClaimStatus status) {
  Claim claim;
  claim.id = Id{"cl1"};
  claim.claim_type = Word{"CLAIM_ALL"};
  claim.onchain_status = status;
  claim.amount = NonNegativeAmount{"1.5"};
  claim.created_at = earlier_moment;
  claim.updated_at = UpdatedAt{earlier_moment};
  return claim;
}

ClaimStatus status_of(const Case& row, std::string_view name) {
  return find_enum<ClaimStatus>(row.text(name)).value();
}

Claim moved(const Claim& claim, const std::string& move, std::optional<Timestamp> at) {
  if (move == "submit") {
    SubmitClaim request;
    request.tx_hash = Label{"0xhash"};
    request.at = at;
    return submit_claim(claim, request, instant);
  }
  if (move == "confirm") {
    ConfirmClaim request;
    request.at = at;
    return confirm_claim(claim, request, instant);
  }
  FailClaim request;
  request.error_message = Note{"out of gas"};
  return fail_claim(claim, request, instant);
}

TEST_CASE("a claim changes only along its transitions") {
  for (const Case& row : Vectors("claim-moves")) {
    CAPTURE(row.shown());
    const Claim before = claim_that_is(status_of(row, "from"));
    Claim after = before;
    const std::string code = code_of([&] { after = moved(before, row.text("move"), {}); });
    CHECK(code == row.code());
    if (!code.empty()) continue;
    CHECK(after.onchain_status == status_of(row, "to"));
    CHECK(is_transition(before.onchain_status, after.onchain_status));
    CHECK(after.updated_at == UpdatedAt{instant});
    CHECK(after.created_at == before.created_at);
  }
}

TEST_CASE("a transition records its members and time; default: now") {
  const Claim pending = claim_that_is(ClaimStatus::pending);
  const Claim submitted = moved(pending, "submit", {});
  CHECK(submitted.tx_hash == TransactionHash{"0xhash"});
  CHECK(submitted.submitted_at == instant);
  CHECK(moved(pending, "submit", earlier_moment).submitted_at == earlier_moment);
  CHECK(moved(submitted, "confirm", {}).confirmed_at == instant);
  CHECK(moved(submitted, "confirm", later_moment).confirmed_at == later_moment);
  CHECK(moved(submitted, "fail", {}).error_message == Note{"out of gas"});
}

TEST_CASE("a transition without a time is not earlier than what it follows") {
  Claim claim = claim_that_is(ClaimStatus::pending);
  claim.created_at = later_moment;  // by a clock that is ahead, or while this write waited
  claim = moved(claim, "submit", {});
  CHECK(claim.submitted_at == later_moment);
  CHECK(moved(claim, "confirm", {}).confirmed_at == later_moment);
}

TEST_CASE("a loaded claim may have a later status, never an earlier one") {
  for (const Case& row : Vectors("claim-arrivals")) {
    CAPTURE(row.shown());
    Claim stored = claim_that_is(status_of(row, "stored"));
    stored.updated_at = UpdatedAt{instant};
    Claim line = stored;
    line.onchain_status = status_of(row, "line");
    const std::string relation = row.text("updated_at");
    if (relation != "equal") {
      line.updated_at = UpdatedAt{relation == "earlier" ? earlier_moment : later_moment};
    }
    if (row.text("content") == "other") line.amount = NonNegativeAmount{"1.6"};
    std::optional<Claim> merged;
    const std::string code = code_of([&] { merged = merge(stored, line); });
    CHECK(code == row.code());
    if (!code.empty()) continue;
    CHECK((merged ? "updated" : "unchanged") == row.text("outcome"));
    if (merged) CHECK(same_content(*merged, line));
  }
}

TEST_CASE("the confirmation of a CLAIM_ALL claim counts for its group") {
  Claim claim = claim_that_is(ClaimStatus::confirmed);
  CHECK_FALSE(claim_all_confirmed_at(claim).has_value());  // a loaded claim may lack confirmed_at
  claim.confirmed_at = instant;
  CHECK(claim_all_confirmed_at(claim) == instant);
  claim.claim_type = Word{"CLAIM_SOME"};
  CHECK_FALSE(claim_all_confirmed_at(claim).has_value());
  claim.claim_type = Word{"CLAIM_ALL"};
  for (const ClaimStatus status :
       {ClaimStatus::pending, ClaimStatus::submitted, ClaimStatus::failed}) {
    claim.onchain_status = status;
    CHECK_FALSE(claim_all_confirmed_at(claim).has_value());
  }
}

}  // namespace
}  // namespace comptroller::rules
