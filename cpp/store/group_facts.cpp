#include "store/group_facts.hpp"

#include "store/row_locks.hpp"

namespace comptroller::store {

namespace {

// The facts of a row with the columns customer_id and jurisdiction.
GroupFacts read_facts(db::Query& row) {
  GroupFacts facts{true, row.number(0), std::nullopt};
  if (!row.column(1).is_null()) facts.jurisdiction = row.number(1);
  return facts;
}

}  // namespace

GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol) {
  share_group(connection, group_symbol);
  db::Query query =
      connection.query("SELECT customer_id, jurisdiction FROM payout_groups WHERE id = $group");
  if (!query.bind("$group", group_symbol).step()) return {};
  return read_facts(query);
}

std::unordered_map<std::int64_t, GroupFacts> group_facts(db::Connection& connection,
                                                         const std::vector<db::Value>& groups) {
  std::unordered_map<std::int64_t, GroupFacts> facts;
  if (groups.empty()) return facts;
  share_groups(connection, groups);
  for (const db::Value& group : groups) facts.emplace(group.integer, GroupFacts{});
  db::Query rows = connection.query_list(
      "SELECT customer_id, jurisdiction, id FROM payout_groups WHERE id = ANY(?)", groups);
  while (rows.step()) facts[rows.number(2)] = read_facts(rows);
  return facts;
}

}  // namespace comptroller::store
