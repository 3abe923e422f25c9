#include "store/claims.hpp"

#include <array>

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

// Claims whose group has a jurisdiction, while the claims of some groups may carry an earlier one.
ListFilter of_jurisdiction(db::Connection& connection, std::int64_t jurisdiction,
                           const Ownership& ownership) {
  const Value wanted = Value::of(jurisdiction);
  const JurisdictionClaims found = claims_of_jurisdiction(connection, jurisdiction, ownership);
  ListFilter filter{Selectivity::term, {}, false};
  for (const auto& [group, from_status] : found.groups) {
    Sql condition;
    if (!found.are_all) condition = {"jurisdiction IS DISTINCT FROM ?", {wanted}};
    filter.alternatives.push_back({&ListClaims::by_group,
                                   "payout_group_id",
                                   {Value::of(group)},
                                   std::move(condition),
                                   static_cast<std::int64_t>(from_status)});
  }
  if (!found.are_all) {
    filter.alternatives.push_back(
        {&ListClaims::by_jurisdiction,
         "jurisdiction",
         {wanted},
         {"NOT EXISTS (SELECT 1 FROM jurisdiction_changes AS c JOIN payout_groups AS g"
          " ON g.id = c.group_id WHERE c.group_id = claims.payout_group_id"
          " AND g.jurisdiction IS DISTINCT FROM ?)",
          {wanted}}});
  }
  if (filter.alternatives.empty())
    filter.alternatives.push_back({&ListClaims::by_group, "payout_group_id", {}, {}});
  return filter;
}

}  // namespace

Listing claims_listing(db::Connection& connection, const ListClaims& request, Ownership ownership) {
  if (!request.jurisdiction || !has_jurisdiction_changes(connection)) {
    return make_listing<Claim>(connection, request, std::move(ownership));
  }
  const auto jurisdiction = connection.symbols().find(request.jurisdiction->value);
  ListFilter filter = of_jurisdiction(connection, jurisdiction.value_or(0), ownership);
  ListClaims others = request;
  others.jurisdiction.reset();
  Listing listing = make_listing<Claim>(connection, others, std::move(ownership));
  listing.add(std::move(filter));
  return listing;
}

std::vector<bool> insert_claims(db::Connection& connection, std::span<const NewClaim> claims) {
  return insert_new_many<Claim>(
      connection, claims.size(),
      [&](std::size_t row) -> const Claim& { return *claims[row].claim; }, "jurisdiction",
      [&](std::size_t row, BoundValues&) { return nullable(claims[row].jurisdiction); });
}

bool insert_claim(db::Connection& connection, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  const std::array one{NewClaim{&claim, jurisdiction}};
  return insert_claims(connection, one).front();
}

void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  update(connection, key, claim, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
