#include "store/claims.hpp"

#include <algorithm>
#include <array>
#include <iterator>

#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

Value nullable(std::optional<std::int64_t> symbol) {
  return symbol ? Value::of(*symbol) : Value::null();
}

// The status follows group, jurisdiction and chain in their indexes, so that claims of a rare
// status are found among many. Without a filter by status the rows of all four are merged.
std::vector<Condition> by_status(const Condition& condition,
                                 const std::vector<ClaimStatus>& statuses,
                                 ClaimStatus first = ClaimStatus::pending) {
  constexpr std::array all{ClaimStatus::pending, ClaimStatus::submitted, ClaimStatus::confirmed,
                           ClaimStatus::failed};
  std::vector<Condition> conditions;
  for (const ClaimStatus status : all) {
    if (status < first) continue;
    if (!statuses.empty() && std::ranges::find(statuses, status) == statuses.end()) continue;
    Condition& with_status = conditions.emplace_back(condition);
    with_status.sql += " AND onchain_status = ?";
    with_status.values.push_back(Value::of(static_cast<std::int64_t>(status)));
  }
  return conditions;
}

// The claims whose group has a jurisdiction. No claim satisfies two of the conditions.
std::vector<Condition> by_jurisdiction(db::Connection& connection, std::int64_t jurisdiction,
                                       const Ownership& ownership,
                                       const std::vector<ClaimStatus>& statuses) {
  const Value wanted = Value::of(jurisdiction);
  const JurisdictionClaims found = claims_of_jurisdiction(connection, jurisdiction, ownership);
  std::vector<Condition> conditions;
  if (!found.are_all) {
    Condition carried{"jurisdiction = ?", {wanted}};
    if (found.is_changing) {
      carried.sql +=
          " AND NOT EXISTS (SELECT 1 FROM jurisdiction_changes AS c JOIN payout_groups AS g"
          " ON g.id = c.group_id WHERE c.group_id = claims.payout_group_id"
          " AND g.jurisdiction IS DISTINCT FROM ?)";
      carried.values.push_back(wanted);
    }
    conditions = by_status(carried, statuses);
  }
  for (const auto& [group, from_status] : found.groups) {
    Condition of_group{"payout_group_id = ?", {Value::of(group)}, false};
    if (!found.are_all) {
      of_group.sql += " AND jurisdiction IS DISTINCT FROM ?";
      of_group.values.push_back(wanted);
    }
    std::ranges::move(by_status(of_group, statuses, from_status), std::back_inserter(conditions));
  }
  if (conditions.empty()) conditions.push_back({"payout_group_id = ?", {Value::of(0)}, false});
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
    const auto jurisdiction = connection.symbols().find(request.jurisdiction->value);
    listing.choose(by_jurisdiction(connection, jurisdiction.value_or(0), listing.ownership(),
                                   request.statuses),
                   true);
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

std::vector<bool> insert_claims(db::Connection& connection, std::span<const NewClaim> claims) {
  return insert_new_many<Claim>(
      connection, claims.size(),
      [&](std::size_t row) -> const Claim& { return *claims[row].claim; }, "jurisdiction",
      [&](std::size_t row, Parameters&) { return nullable(claims[row].jurisdiction); });
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
