#include "store/claims.hpp"

#include <algorithm>

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

}  // namespace

Listing claims_listing(db::Connection& connection, const ListClaims& request, Ownership ownership) {
  Listing listing("claims", select_list<Claim>(), Claim::fields::count, std::move(ownership),
                  connection.symbols());
  // Most claims end up CONFIRMED, so that word selects the least of all choices.
  const bool selects_most =
      std::ranges::find(request.statuses, ClaimStatus::confirmed) != request.statuses.end();
  listing.equal_anywhere<Id>("id", request.id);
  listing.equal_anywhere<GroupId>("payout_group_id", request.payout_group_id);
  if (!selects_most) listing.among<ClaimStatus>("onchain_status", request.statuses);
  listing.equal<Term>("jurisdiction", request.jurisdiction);
  listing.equal<Term>("blockchain", request.chain);
  if (selects_most) listing.among<ClaimStatus>("onchain_status", request.statuses);
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
  update(connection, key, claim);
  connection.query("UPDATE claims SET jurisdiction = $jurisdiction WHERE key = $key")
      .bind("$jurisdiction", nullable(jurisdiction))
      .bind("$key", Value::of(key))
      .run();
}

}  // namespace comptroller::store
