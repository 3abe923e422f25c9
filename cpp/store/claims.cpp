#include "store/claims.hpp"

#include <algorithm>
#include <array>

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

// The indexes by group, jurisdiction and chain go on with the status, so that a rare one is found
// among many; asked for none, all of them are merged.
std::vector<Condition> by_status(const Condition& condition,
                                 const std::vector<ClaimStatus>& statuses) {
  constexpr std::array all{ClaimStatus::pending, ClaimStatus::submitted, ClaimStatus::confirmed,
                           ClaimStatus::failed};
  std::vector<Condition> conditions;
  for (const ClaimStatus status : all) {
    if (!statuses.empty() && std::ranges::find(statuses, status) == statuses.end()) continue;
    Condition& with_status = conditions.emplace_back(condition);
    with_status.sql += " AND onchain_status = ?";
    with_status.values.push_back(Value::of(static_cast<std::int64_t>(status)));
  }
  return conditions;
}

}  // namespace

Listing claims_listing(db::Connection& connection, const ListClaims& request, Ownership ownership) {
  Listing listing("claims", select_list<Claim>(), Claim::fields::count, std::move(ownership),
                  connection.symbols());
  listing.equal_anywhere<Id>("id", request.id);
  if (request.payout_group_id) {
    const auto group = listing.equals<GroupId>("payout_group_id", *request.payout_group_id);
    listing.choose(by_status(group, request.statuses), false);
  }
  if (request.jurisdiction) {
    const auto jurisdiction = listing.equals<Term>("jurisdiction", *request.jurisdiction);
    listing.choose(by_status(jurisdiction, request.statuses), true);
  }
  if (request.chain) {
    const auto chain = listing.equals<Term>("blockchain", *request.chain);
    listing.choose(by_status(chain, request.statuses), true);
  }
  listing.among<ClaimStatus>("onchain_status", request.statuses);
  if (request.start_time) listing.range().at_least(*request.start_time);
  if (request.end_time) listing.range().at_most(*request.end_time);
  return listing;
}

bool insert_claim(db::Connection& connection, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  return insert_new(connection, claim, {{"jurisdiction", nullable(jurisdiction)}}).has_value();
}

void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  update(connection, key, claim, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
