#include "store/claims.hpp"

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

// Claims whose group has a jurisdiction, while the claims of some groups may carry an earlier one:
// those that carry it and whose group is not in transition, and those of groups that have it.
ListFilter of_jurisdiction(db::Connection& connection, std::int64_t jurisdiction,
                           const Ownership& ownership) {
  const JurisdictionClaims found = claims_of_jurisdiction(connection, jurisdiction, ownership);
  Alternative of_groups{&ListClaims::by_group, "payout_group_id", {}, {}};
  for (const std::int64_t group : found.groups) of_groups.values.push_back(Value::of(group));
  ListFilter filter{Selectivity::term, {std::move(of_groups)}, false};
  if (!found.are_all) {
    filter.alternatives.push_back(
        {&ListClaims::by_jurisdiction,
         "jurisdiction",
         {Value::of(jurisdiction)},
         {"payout_group_id NOT IN (SELECT group_id FROM jurisdiction_changes)", {}}});
  }
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

bool insert_claim(db::Connection& connection, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  return insert_new(connection, claim, {{"jurisdiction", nullable(jurisdiction)}}).has_value();
}

void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction) {
  update(connection, key, claim, {{"jurisdiction", nullable(jurisdiction)}});
}

}  // namespace comptroller::store
