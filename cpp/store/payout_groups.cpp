#include "store/payout_groups.hpp"

#include "model/error.hpp"
#include "model/ledger_address.hpp"

namespace comptroller::store {

namespace {

Value optional_symbol(db::Symbols& symbols, const std::optional<Term>& term) {
  return term ? Value::of(symbols.intern(term->value)) : Value::null();
}

void check_claims_agree(db::Connection& connection, std::int64_t group, std::int64_t customer) {
  db::Query query = connection.query(
      "SELECT 1 FROM claims WHERE payout_group_id = $group AND customer_id <> $customer"
      " UNION ALL SELECT 1 FROM reward_addresses"
      " WHERE payout_group_id = $group AND customer_id <> $customer LIMIT 1");
  if (query.bind("$group", Value::of(group)).bind("$customer", Value::of(customer)).step()) {
    throw Error(Code::already_exists,
                "claims or addresses of another customer name this payout group already");
  }
}

void check_ledger_agrees(db::Connection& connection, std::int64_t group, Ledger ledger) {
  db::Query query = connection.query(
      "SELECT ledger FROM reward_addresses WHERE payout_group_id = $group AND ledger <> $ledger"
      " LIMIT 1");
  query.bind("$group", Value::of(group))
      .bind("$ledger", Value::of(static_cast<std::int64_t>(ledger)));
  if (!query.step()) return;
  throw Error::field(Code::ledger_mismatch, "ledger",
                     "addresses attributed to this group are on " +
                         std::string(word(static_cast<Ledger>(query.column(0).integer))));
}

void carry_jurisdiction(db::Connection& connection, std::int64_t group,
                        const std::optional<Term>& jurisdiction) {
  connection.query("UPDATE claims SET jurisdiction = $jurisdiction WHERE payout_group_id = $group")
      .bind("$jurisdiction", optional_symbol(connection.symbols(), jurisdiction))
      .bind("$group", Value::of(group))
      .run();
}

// The latest confirmation among the group's CLAIM_ALL claims.
std::optional<Timestamp> latest_claim_all(db::Connection& connection, std::string_view group_id) {
  db::Query query = connection.query(
      "SELECT max(confirmed_at) FROM claims WHERE payout_group_id = $group"
      " AND onchain_status = $confirmed AND claim_type = $claim_all");
  query.bind("$group", Value::of(connection.symbols().find(group_id).value_or(0)))
      .bind("$confirmed", Value::of(static_cast<std::int64_t>(ClaimStatus::confirmed)))
      .bind("$claim_all", Value::of(connection.symbols().find("CLAIM_ALL").value_or(0)));
  const Value latest = query.step() ? query.column(0) : Value::null();
  if (latest.is_null()) return std::nullopt;
  return Timestamp{latest.integer};
}

}  // namespace

Listing payout_groups_listing(db::Connection& connection, ListPayoutGroups request,
                              Ownership ownership) {
  if (request.claimer_address) {
    // An EVM address has one form on all of its ledgers; an address of SOLANA is its own form.
    std::string& address = request.claimer_address->value;
    address = sought_address(request.ledger.value_or(Ledger::ethereum), address);
  }
  return make_listing<PayoutGroup>(connection, request, std::move(ownership));
}

void insert_payout_group(db::Connection& connection, PayoutGroup group) {
  const std::int64_t symbol = connection.symbols().intern(group.id.value);
  check_claims_agree(connection, symbol, connection.symbols().intern(customer_of(group)));
  check_ledger_agrees(connection, symbol, group.ledger);
  raise_to_claims(connection, group);
  insert(connection, group);
  if (group.jurisdiction) carry_jurisdiction(connection, symbol, group.jurisdiction);
}

void update_payout_group(db::Connection& connection, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after) {
  const std::int64_t symbol = connection.symbols().intern(after.id.value);
  if (before.record.ledger != after.ledger) check_ledger_agrees(connection, symbol, after.ledger);
  update(connection, before.key, after);
  if (before.record.jurisdiction != after.jurisdiction) {
    carry_jurisdiction(connection, symbol, after.jurisdiction);
  }
}

void raise_to_claims(db::Connection& connection, PayoutGroup& group) {
  const std::optional<Timestamp> latest = latest_claim_all(connection, group.id.value);
  if (latest && (!group.last_claim_all_at || *group.last_claim_all_at < *latest)) {
    group.last_claim_all_at = latest;
  }
}

void raise_last_claim_all(db::Connection& connection, std::string_view group_id, Timestamp at) {
  connection
      .query(
          "UPDATE payout_groups SET last_claim_all_at = $at"
          " WHERE id = $group AND (last_claim_all_at IS NULL OR last_claim_all_at < $at)")
      .bind("$at", Value::of(at.microseconds))
      .bind("$group", Value::of(connection.symbols().find(group_id).value_or(0)))
      .run();
}

GroupFacts group_facts(db::Connection& connection, std::int64_t group_symbol) {
  db::Query query =
      connection.query("SELECT customer_id, jurisdiction FROM payout_groups WHERE id = $group");
  if (!query.bind("$group", Value::of(group_symbol)).step()) return {};
  GroupFacts facts{true, query.column(0).integer, std::nullopt};
  const Value jurisdiction = query.column(1);
  if (!jurisdiction.is_null()) facts.jurisdiction = jurisdiction.integer;
  return facts;
}

}  // namespace comptroller::store
