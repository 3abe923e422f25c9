#include "store/payout_groups.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

// With statistics of an ANALYZE that ran while a table was small, SQLite reads the whole table
// instead of an index that is not unique, unless the statement asks for an order or, as here, names
// the index.

// The latest confirmation of the CLAIM_ALL claims of group ?1; 2 is CONFIRMED.
constexpr std::string_view latest_claim_all =
    "SELECT max(confirmed_at) FROM claims INDEXED BY claims_by_group WHERE payout_group_id = ?1"
    " AND onchain_status = 2"
    " AND claim_type = (SELECT key FROM symbols WHERE text = 'CLAIM_ALL')";

constexpr std::string_view confirmed_at_of_group =
    "SELECT claim_all_confirmed_at FROM payout_groups WHERE id = ?1";

void check_claims_agree(db::Connection& connection, std::int64_t group, std::int64_t customer) {
  db::Query query = connection.query(
      "SELECT 1 FROM claims INDEXED BY claims_by_group WHERE payout_group_id = $group"
      " AND customer_id <> $customer"
      " UNION ALL SELECT 1 FROM reward_addresses INDEXED BY reward_addresses_by_group"
      " WHERE payout_group_id = $group AND customer_id <> $customer LIMIT 1");
  if (query.bind("$group", group).bind("$customer", customer).step()) {
    throw Error(Code::already_exists,
                "claims or addresses of another customer already name this payout group");
  }
}

void check_ledger_agrees(db::Connection& connection, std::int64_t group, Ledger ledger) {
  db::Query query = connection.query(
      "SELECT ledger FROM reward_addresses INDEXED BY reward_addresses_by_group"
      " WHERE payout_group_id = $group AND ledger <> $ledger LIMIT 1");
  if (!query.bind("$group", group).bind("$ledger", code_of(ledger)).step()) return;
  throw Error::field(Code::ledger_mismatch, "ledger",
                     "addresses attributed to this group are on " +
                         std::string(enum_text(static_cast<Ledger>(query.number(0)))));
}

std::optional<Timestamp> read_time(db::Connection& connection, std::string_view sql,
                                   std::int64_t group) {
  db::Query query = connection.query(sql);
  query.bind(1, group);
  if (!query.step() || query.column(0).is_null()) return std::nullopt;
  return Timestamp{query.number(0)};
}

std::optional<Timestamp> lock_confirmed_at(db::Connection& connection, std::int64_t group) {
  const std::string sql = std::string(confirmed_at_of_group).append(for_update(connection));
  return read_time(connection, sql, group);
}

Value nullable(const std::optional<Timestamp>& time) {
  return time ? Value::of(time->microseconds) : Value::null();
}

}  // namespace

void insert_payout_group(Changes& changes, PayoutGroup group) {
  db::Connection& connection = changes.connection();
  db::Symbols& symbols = connection.symbols();
  // Beside other writes also a group that no record names yet, because one may name it meanwhile.
  const std::optional<std::int64_t> named =
      connection.locks_rows() ? symbols.intern(group.id.value) : symbols.find(group.id.value);
  if (named) lock_group(connection, *named);
  std::optional<Timestamp> confirmed_at;
  if (named) {  // otherwise no claim or address refers to the group
    check_claims_agree(connection, *named, symbols.intern(customer_of(group)));
    check_ledger_agrees(connection, *named, group.ledger);
    confirmed_at = read_time(connection, latest_claim_all, *named);
    group.last_claim_all_at = std::max(group.last_claim_all_at, confirmed_at);
  }
  insert(changes, group, {{"claim_all_confirmed_at", nullable(confirmed_at)}});
  if (named && group.jurisdiction) begin_jurisdiction_change(connection, *named);
}

bool update_payout_group(Changes& changes, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after) {
  db::Connection& connection = changes.connection();
  const std::int64_t symbol = connection.symbols().intern(after.id.value);
  if (before.record.ledger != after.ledger) check_ledger_agrees(connection, symbol, after.ledger);
  update(changes, before, after);
  return before.record.jurisdiction == after.jurisdiction ||
         begin_jurisdiction_change(connection, symbol);
}

void raise_to_claims(db::Connection& connection, PayoutGroup& group) {
  const auto confirmed_at = read_time(connection, confirmed_at_of_group,
                                      connection.symbols().find(group.id.value).value_or(0));
  group.last_claim_all_at = std::max(group.last_claim_all_at, confirmed_at);
}

void raise_last_claim_all(Changes& changes, std::int64_t group, Timestamp at) {
  db::Connection& connection = changes.connection();
  const auto confirmed_at = lock_confirmed_at(connection, group);
  if (confirmed_at >= at) return;
  const auto stored = find_where<PayoutGroup>(connection, {"id = ?", {Value::of(group)}});
  if (!stored) return;
  PayoutGroup raised = stored->record;
  raised.last_claim_all_at = std::max(raised.last_claim_all_at, std::optional(at));
  update(changes, *stored, raised);
  connection.run("UPDATE payout_groups SET claim_all_confirmed_at = ?2 WHERE id = ?1", group,
                 at.microseconds);
}

// Unless a later confirmation is stored. `IS NOT TRUE` includes NULL: no confirmation is stored.
void withdraw_claim_all(db::Connection& connection, std::int64_t group, Timestamp at) {
  static const std::string sql = "UPDATE payout_groups SET claim_all_confirmed_at = (" +
                                 std::string(latest_claim_all) +
                                 ") WHERE id = ?1 AND (claim_all_confirmed_at > ?2) IS NOT TRUE";
  // Before the update, which would read the claims as they were before it waited for the lock.
  if (connection.locks_rows()) lock_confirmed_at(connection, group);
  connection.run(sql, group, at.microseconds);
}

}  // namespace comptroller::store
