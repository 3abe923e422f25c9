#include "store/claims.hpp"

#include <utility>

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

Listing listing_for(db::Connection& connection, const ListClaims& request, Ownership ownership,
                    const ListUse& /*use*/) {
  ListClaims by_index = request;
  std::optional<Label> changing;  // the jurisdiction, while groups of the customers are changing
  if (by_index.jurisdiction && has_jurisdiction_changes(connection, ownership)) {
    changing = std::exchange(by_index.jurisdiction, std::nullopt);
  }
  auto listing = make_listing<Claim>(connection, by_index, std::move(ownership));
  if (changing) filter_by_jurisdiction(listing, *changing);
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
