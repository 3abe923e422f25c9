#include "store/group_facts.hpp"

#include "store/row_locks.hpp"

namespace comptroller::store {

GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol) {
  share_group(connection, group_symbol);
  db::Query query =
      connection.query("SELECT customer_id, jurisdiction FROM payout_groups WHERE id = $group");
  if (!query.bind("$group", group_symbol).step()) return {};
  GroupFacts facts{true, query.number(0), std::nullopt};
  if (!query.column(1).is_null()) facts.jurisdiction = query.number(1);
  return facts;
}

}  // namespace comptroller::store
