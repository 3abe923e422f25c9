#include "store/jurisdiction_changes.hpp"

#include <limits>

#include "store/payout_groups.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

namespace {

// About 5 ms; other writers wait for no more than one part.
constexpr std::int64_t claims_a_part = 500;
constexpr std::int64_t most_groups_merged = 8;
constexpr auto statuses = static_cast<std::int64_t>(words_of<ClaimStatus>.size());

// A place in the index claims_by_group; the claims of the group up to it carry its jurisdiction. A
// claim that is inserted or updated takes the present one by itself, wherever it is.
struct Walk {
  std::int64_t onchain_status = 0;
  std::int64_t created_at = std::numeric_limits<std::int64_t>::min();
  std::int64_t key = 0;
};

std::vector<std::int64_t> next_claims(db::Connection& connection, std::int64_t group, Walk& walk,
                                      std::int64_t most) {
  std::vector<std::int64_t> keys;
  db::Query claims = connection.query(
      "SELECT key, created_at FROM claims WHERE payout_group_id = $group"
      " AND onchain_status = $status AND created_at = $created_at AND key > $key"
      " UNION ALL SELECT key, created_at FROM claims WHERE payout_group_id = $group"
      " AND onchain_status = $status AND created_at > $created_at ORDER BY 2, 1 LIMIT $most");
  claims.bind("$group", Value::of(group))
      .bind("$status", Value::of(walk.onchain_status))
      .bind("$created_at", Value::of(walk.created_at))
      .bind("$key", Value::of(walk.key))
      .bind("$most", Value::of(most));
  while (claims.step()) {
    keys.push_back(claims.column(0).integer);
    walk.key = keys.back();
    walk.created_at = claims.column(1).integer;
  }
  return keys;
}

// Rewrites one part; gives whether the end was reached.
bool rewrite(db::Connection& connection, std::int64_t group, Walk& walk) {
  const auto jurisdiction = group_facts(connection, group).jurisdiction;
  const Value value = jurisdiction ? Value::of(*jurisdiction) : Value::null();
  std::int64_t left = claims_a_part;
  while (walk.onchain_status < statuses) {
    const std::vector<std::int64_t> keys = next_claims(connection, group, walk, left);
    for (const std::int64_t key : keys) {
      connection.query("UPDATE claims SET jurisdiction = $jurisdiction WHERE key = $key")
          .bind("$jurisdiction", value)
          .bind("$key", Value::of(key))
          .run();
    }
    left -= static_cast<std::int64_t>(keys.size());
    if (left == 0) return false;
    walk = {.onchain_status = walk.onchain_status + 1};
  }
  return true;
}

void rewrite_part(db::Connection& connection, std::int64_t group, Walk walk) {
  if (rewrite(connection, group, walk)) {
    connection.query("DELETE FROM jurisdiction_changes WHERE group_id = $group")
        .bind("$group", Value::of(group))
        .run();
    return;
  }
  connection
      .query(
          "INSERT INTO jurisdiction_changes (group_id, onchain_status, created_at, claim_key)"
          " VALUES ($group, $status, $created_at, $key) ON CONFLICT (group_id) DO UPDATE"
          " SET onchain_status = $status, created_at = $created_at, claim_key = $key")
      .bind("$group", Value::of(group))
      .bind("$status", Value::of(walk.onchain_status))
      .bind("$created_at", Value::of(walk.created_at))
      .bind("$key", Value::of(walk.key))
      .run();
}

}  // namespace

bool begin_jurisdiction_change(db::Connection& connection, std::int64_t group) {
  rewrite_part(connection, group, {});
  db::Query query = connection.query("SELECT 1 FROM jurisdiction_changes WHERE group_id = $group");
  return !query.bind("$group", Value::of(group)).step();
}

bool continue_jurisdiction_changes(db::Connection& connection) {
  std::optional<std::pair<std::int64_t, Walk>> next;
  {
    db::Query query = connection.query(
        "SELECT group_id, onchain_status, created_at, claim_key FROM jurisdiction_changes"
        " ORDER BY group_id LIMIT 1");
    if (!query.step()) return false;
    next.emplace(query.column(0).integer,
                 Walk{query.column(1).integer, query.column(2).integer, query.column(3).integer});
  }
  rewrite_part(connection, next->first, next->second);
  return has_jurisdiction_changes(connection);
}

bool has_jurisdiction_changes(db::Connection& connection) {
  return connection.query("SELECT group_id FROM jurisdiction_changes LIMIT 1").step();
}

JurisdictionClaims claims_of_jurisdiction(db::Connection& connection, std::int64_t jurisdiction,
                                          const Ownership& ownership) {
  JurisdictionClaims claims;
  if (ownership.customers.size() == 1) {
    // Where one group is most of the jurisdiction, the index holds little but claims to pass over.
    db::Query groups = connection.query(
        "SELECT id FROM payout_groups WHERE customer_id = $customer"
        " AND jurisdiction = $jurisdiction LIMIT $most");
    groups.bind("$customer", Value::of(ownership.customers.front()))
        .bind("$jurisdiction", Value::of(jurisdiction))
        .bind("$most", Value::of(most_groups_merged + 1));
    while (groups.step()) claims.groups.push_back({groups.column(0).integer, {}});
    claims.are_all = claims.groups.size() <= static_cast<std::size_t>(most_groups_merged);
    if (claims.are_all) return claims;
    claims.groups.clear();
  }
  if (ownership.is_restricted && ownership.customers.empty()) return claims;
  Sql sql{
      "SELECT group_id, jurisdiction_changes.onchain_status FROM jurisdiction_changes"
      " JOIN payout_groups AS g ON g.id = group_id WHERE g.jurisdiction = ?",
      {Value::of(jurisdiction)}};
  if (ownership.is_restricted) {
    sql.add(" AND g.customer_id = ?", Value::of(ownership.customers.front()));
  }
  db::Query groups = sql.add(" ORDER BY group_id").query(connection);
  while (groups.step()) {
    claims.groups.push_back(
        {groups.column(0).integer, decode<ClaimStatus>(groups.column(1).integer)});
  }
  return claims;
}

}  // namespace comptroller::store
