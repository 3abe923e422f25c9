#include "store/claims.hpp"

#include <utility>

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

Listing claims_listing(db::Connection& connection, ListClaims request, Ownership ownership) {
  std::optional<std::int64_t> changing;  // the jurisdiction, while groups are in transition
  if (request.jurisdiction && has_jurisdiction_changes(connection)) {
    changing = connection.symbols().find(request.jurisdiction->value);
    if (changing) request.jurisdiction.reset();
  }
  auto listing = make_listing<Claim>(connection, request, std::move(ownership));
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
