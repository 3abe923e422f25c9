#include "store/jurisdiction_changes.hpp"

#include <algorithm>

#include "store/payout_groups.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

namespace {

// About 5 ms; other writers wait for at most one part.
constexpr std::int64_t claims_a_part = 500;
// While groups leave a jurisdiction, a list merges the claims of up to this many groups in it.
constexpr std::int64_t max_groups_merged = 100;
// A page skips the claims of up to this many leaving groups by their positions.
constexpr std::int64_t max_groups_skipped = 16;

// Returns the first claims of a group after a position, in order of time.
std::vector<Position> next_claims(db::Connection& connection, std::int64_t group,
                                  const std::optional<Position>& after) {
  auto claims = make_listing<Claim>(connection, ListClaims{}, {});
  claims.select("onchain_status");
  claims.add(
      {Selectivity::narrow, {{&ListClaims::by_group, "payout_group_id", {Value::of(group)}}}});
  PageRows rows = claims.run({Order::ascending, after, claims_a_part});
  std::vector<Position> positions;
  while (rows.step()) positions.push_back(rows.position());
  return positions;
}

// Rewrites the next claims of a group after `after`, up to which the claims have its jurisdiction;
// returns whether no more claims remain. Claims that are inserted or updated meanwhile already have
// the current jurisdiction.
bool rewrite_part(db::Connection& connection, std::int64_t group,
                  const std::optional<Position>& after) {
  const auto jurisdiction = group_facts(connection, group).jurisdiction;
  const std::vector<Position> claims = next_claims(connection, group, after);
  for (const Position& claim : claims) {
    connection.query("UPDATE claims SET jurisdiction = $jurisdiction WHERE key = $key")
        .bind("$jurisdiction", nullable(jurisdiction))
        .bind("$key", Value::of(claim.key))
        .run();
  }
  if (std::ssize(claims) < claims_a_part) {
    connection.query("DELETE FROM jurisdiction_changes WHERE group_id = $group")
        .bind("$group", Value::of(group))
        .run();
    return true;
  }
  connection
      .query(
          "INSERT INTO jurisdiction_changes (group_id, created_at, claim_key)"
          " VALUES ($group, $created_at, $key) ON CONFLICT (group_id) DO UPDATE"
          " SET created_at = $created_at, claim_key = $key")
      .bind("$group", Value::of(group))
      .bind("$created_at", Value::of(claims.back().created_at))
      .bind("$key", Value::of(claims.back().key))
      .run();
  return false;
}

// A group in transition.
struct Transition {
  Value group;
  std::int64_t from = 0;     // the time of the first claim that may not be rewritten yet
  bool is_entering = false;  // whether the group has the jurisdiction now
  // Whether the first of its claims that is not rewritten yet, in one of the statuses, still has
  // the jurisdiction.
  bool is_leaving = false;
};

std::vector<Transition> transitions_of(db::Connection& connection, const Value& jurisdiction,
                                       const Ownership& ownership) {
  std::string sql =
      "SELECT group_id, jurisdiction_changes.created_at, g.jurisdiction = ?1,"
      " g.jurisdiction IS DISTINCT FROM ?1 AND EXISTS (SELECT 1"
      " FROM json_each('[0,1,2,3]') AS status WHERE ?1 = (SELECT jurisdiction FROM claims"
      " WHERE payout_group_id = group_id AND onchain_status = status.value"
      " AND (created_at, key) > (jurisdiction_changes.created_at, claim_key)"
      " ORDER BY created_at, key LIMIT 1))"
      " FROM jurisdiction_changes CROSS JOIN payout_groups AS g ON g.id = group_id";
  if (ownership.is_restricted) sql += " WHERE g.customer_id = ?2";
  sql += " ORDER BY group_id";
  static_assert(enum_texts<ClaimStatus>.size() == 4, "the statement names every status");
  std::vector<Value> values{jurisdiction};
  if (ownership.is_restricted) values.push_back(ownership.customers.front());
  db::Query rows = bound_query(connection, sql, values);
  std::vector<Transition> transitions;
  while (rows.step()) {
    transitions.push_back({Value::of(rows.column(0).integer), rows.column(1).integer,
                           rows.column(2).integer != 0, rows.column(3).integer != 0});
  }
  return transitions;
}

// Returns a condition on claims: their groups are not in transition to another jurisdiction, except
// some groups.
Sql is_not_leaving(const Value& jurisdiction, const std::vector<Value>& except) {
  Sql sql{
      "NOT EXISTS (SELECT 1 FROM jurisdiction_changes AS c JOIN payout_groups AS g"
      " ON g.id = c.group_id WHERE c.group_id = claims.payout_group_id"
      " AND g.jurisdiction IS DISTINCT FROM ?",
      {jurisdiction}};
  if (!except.empty()) sql.add(" AND NOT ").add(any_of("c.group_id", except));
  return sql.add(")");
}

// Returns the groups of a jurisdiction, up to a maximum number.
std::vector<Value> groups_of(db::Connection& connection, const Label& jurisdiction,
                             const Ownership& ownership, std::int64_t most) {
  ListPayoutGroups of_jurisdiction;
  of_jurisdiction.jurisdiction = jurisdiction;
  auto groups = make_listing<PayoutGroup>(connection, of_jurisdiction, ownership);
  groups.select("id");
  PageRows rows = groups.run({.max_rows = most});
  std::vector<Value> ids;
  while (rows.step()) ids.push_back(Value::of(rows.row().column(0).integer));
  return ids;
}

}  // namespace

bool begin_jurisdiction_change(db::Connection& connection, std::int64_t group) {
  return rewrite_part(connection, group, std::nullopt);
}

bool continue_jurisdiction_changes(db::Connection& connection) {
  std::int64_t group = 0;
  Position place;
  {
    db::Query query = connection.query(
        "SELECT group_id, created_at, claim_key FROM jurisdiction_changes"
        " ORDER BY group_id LIMIT 1");
    if (!query.step()) return false;
    group = query.column(0).integer;
    place = {query.column(1).integer, query.column(2).integer};
  }
  rewrite_part(connection, group, place);
  return has_jurisdiction_changes(connection);
}

bool has_jurisdiction_changes(db::Connection& connection) {
  return connection.query("SELECT group_id FROM jurisdiction_changes LIMIT 1").step();
}

ListFilter claims_of_jurisdiction(db::Connection& connection, const Label& jurisdiction,
                                  const Ownership& ownership) {
  const Value code = Value::of(connection.symbols().find(jurisdiction.value).value_or(0));
  const std::vector<Transition> transitions = transitions_of(connection, code, ownership);
  const auto leaving = std::ranges::count_if(transitions, &Transition::is_leaving);
  if (leaving > 0) {
    auto ids = groups_of(connection, jurisdiction, ownership, max_groups_merged + 1);
    if (std::ssize(ids) <= max_groups_merged) {
      return {Selectivity::term, {{&ListClaims::by_group, "payout_group_id", std::move(ids)}}};
    }
  }
  // The claims that have the jurisdiction, except the claims of groups in transition from it. A
  // page skips the claims of few leaving groups by position; a condition excludes those of others.
  ListFilter filter{Selectivity::term, {{&ListClaims::by_jurisdiction, "jurisdiction", {code}}}};
  std::vector<Value> skipped;
  bool has_others = false;
  for (const auto& [group, from, is_entering, is_leaving] : transitions) {
    Alternative claims{&ListClaims::by_group, "payout_group_id", {group}, {}, from};
    if (is_entering) {
      // Its claims that still have another jurisdiction. All of them come after the position that
      // the rewriting has reached.
      claims.condition = {"jurisdiction IS DISTINCT FROM ?", {code}};
      filter.alternatives.push_back(std::move(claims));
    } else if (is_leaving && leaving <= max_groups_skipped) {
      filter.excluded.alternatives.push_back(std::move(claims));
      skipped.push_back(group);
    } else {
      has_others = true;
    }
  }
  if (!skipped.empty()) filter.excluded.condition = is_not_leaving(code, {});
  if (has_others) filter.alternatives.front().condition = is_not_leaving(code, skipped);
  return filter;
}

}  // namespace comptroller::store
