#include "store/claims.hpp"

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

Listing claims_listing(db::Connection& connection, ListClaims request, Ownership ownership) {
  std::optional<ListFilter> of_jurisdiction;
  if (request.jurisdiction && has_jurisdiction_changes(connection)) {
    of_jurisdiction = claims_of_jurisdiction(connection, *request.jurisdiction, ownership);
    request.jurisdiction.reset();
  }
  auto listing = make_listing<Claim>(connection, request, std::move(ownership));
  if (of_jurisdiction) listing.add(std::move(*of_jurisdiction));
  return listing;
}

std::vector<db::Insertion> insert_many(db::Connection& connection,
                                       std::span<const NewClaim> claims) {
  return insert_new_many<Claim>(
      connection, claims.size(),
      [&](std::size_t row) -> const Claim& { return *claims[row].claim; }, "jurisdiction",
      [&](std::size_t row, BoundValues&) { return nullable(claims[row].jurisdiction); });
}

void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  update(connection, key, claim, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
