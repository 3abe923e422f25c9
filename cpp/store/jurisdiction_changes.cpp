#include "store/jurisdiction_changes.hpp"

#include "model/lists.hpp"
#include "store/group_facts.hpp"
#include "store/row_locks.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

namespace {

// About 5 ms; other writers wait for at most one part.
constexpr std::int64_t claims_per_part = 500;
// While more groups join a jurisdiction, or more are in transition, the list of the jurisdiction
// reads the claims of all jurisdictions.
constexpr std::size_t max_groups_merged = 16;
constexpr std::int64_t max_changes_read = 1000;

// Returns the first claims of a group after a position, in order of time.
std::vector<Position> next_claims(db::Connection& connection, std::int64_t group,
                                  const std::optional<Position>& after) {
  auto claims = make_listing<Claim>(connection, ListClaims{}, {});
  claims.add(
      {Selectivity::narrow, {{&ListClaims::by_group, "payout_group_id", {Value::of(group)}}}});
  const Candidates next = claims.candidates({Order::asc, after, claims_per_part});
  std::vector<Position> positions;
  while (std::ssize(positions) < claims_per_part) {
    const std::optional<Candidate> claim = next();
    if (!claim) break;
    positions.push_back(claim->position);
  }
  return positions;
}

// Rewrites the next claims of a group after `after`, up to which the claims have its jurisdiction;
// returns whether no more claims remain. Claims that are inserted or updated meanwhile already have
// the current jurisdiction.
bool rewrite_part(db::Connection& connection, std::int64_t group,
                  const std::optional<Position>& after) {
  const GroupFacts facts = group_facts(connection, group);
  const std::vector<Position> claims = next_claims(connection, group, after);
  if (connection.dialect().is_remote) {
    std::vector<Value> keys;
    keys.reserve(claims.size());
    for (const Position& claim : claims) keys.push_back(Value::of(claim.key));
    // While the statement waits for a claim, a load may move it to another group.
    Sql update{"UPDATE claims SET jurisdiction = ? WHERE +payout_group_id = ? AND ",
               {nullable(facts.jurisdiction), Value::of(group)}};
    update.add(any_of("key", keys)).query(connection).run();
  } else {
    for (const Position& claim : claims) {
      connection.run("UPDATE claims SET jurisdiction = ? WHERE key = ?",
                     nullable(facts.jurisdiction), claim.key);
    }
  }
  if (std::ssize(claims) < claims_per_part) {
    connection.run("DELETE FROM jurisdiction_changes WHERE group_id = ?", group);
    return true;
  }
  connection.run(
      "INSERT INTO jurisdiction_changes (group_id, created_at, claim_key, customer_id)"
      " VALUES (?1, ?2, ?3, ?4)"
      " ON CONFLICT (group_id) DO UPDATE SET created_at = ?2, claim_key = ?3",
      group, claims.back().created_at, claims.back().key, facts.customer);
  return false;
}

// A group in transition, and the place up to which its claims have its jurisdiction.
struct GroupInTransition {
  std::int64_t group = 0;
  Position place;
};

// Returns the first group in transition from this one (a symbol) on.
std::optional<GroupInTransition> group_from(db::Connection& connection, std::int64_t group) {
  db::Query query = connection.query(
      "SELECT group_id, created_at, claim_key FROM jurisdiction_changes WHERE group_id >= ?"
      " ORDER BY group_id LIMIT 1");
  if (!query.bind(1, group).step()) return std::nullopt;
  return GroupInTransition{query.number(0), {query.number(1), query.number(2)}};
}

}  // namespace

bool begin_jurisdiction_change(db::Connection& connection, std::int64_t group) {
  return rewrite_part(connection, group, std::nullopt);
}

bool continue_jurisdiction_changes(db::Connection& connection) {
  std::optional<GroupInTransition> first = group_from(connection, 0);
  if (!first) return false;
  if (connection.locks_rows()) {
    // Until now another write could continue the change, or begin it again.
    const std::int64_t group = first->group;
    lock_group(connection, group);
    first = group_from(connection, group);
    if (!first || first->group != group) return has_jurisdiction_changes(connection);
  }
  rewrite_part(connection, first->group, first->place);
  return has_jurisdiction_changes(connection);
}

bool has_jurisdiction_changes(db::Connection& connection) {
  return connection.query("SELECT group_id FROM jurisdiction_changes ORDER BY group_id LIMIT 1")
      .step();
}

bool has_jurisdiction_changes(db::Connection& connection, const Ownership& ownership) {
  if (!ownership.is_restricted) return has_jurisdiction_changes(connection);
  return connection.query("SELECT group_id FROM jurisdiction_changes WHERE customer_id = ? LIMIT 1")
      .bind(1, ownership.customers.front())
      .step();
}

void filter_by_jurisdiction(Listing& claims, const Label& jurisdiction) {
  const Value code = claims.stored<Term>("jurisdiction", jurisdiction);
  claims.filter(
      {"(SELECT jurisdiction FROM payout_groups WHERE id = claims.payout_group_id) = ?", {code}});
  std::vector<Value> joining;
  Sql of_customers{
      "SELECT group_id, (SELECT jurisdiction FROM payout_groups WHERE id = group_id)"
      " FROM jurisdiction_changes",
      {}};
  if (claims.ownership().is_restricted) {
    of_customers.add(" WHERE customer_id = ?", claims.ownership().customers.front());
  }
  db::Query changes =
      of_customers.add(" LIMIT ?", Value::of(max_changes_read + 1)).query(claims.connection());
  for (std::int64_t count = 1; changes.step(); ++count) {
    if (changes.column(1) == code) joining.push_back(changes.column(0));
    if (joining.size() > max_groups_merged || count > max_changes_read) return;
  }
  const bool may_overlap = !joining.empty();
  claims.add({Selectivity::term,
              {{&ListClaims::by_jurisdiction, "jurisdiction", {code}},
               {&ListClaims::by_group, "payout_group_id", std::move(joining)}},
              may_overlap});
}

}  // namespace comptroller::store
