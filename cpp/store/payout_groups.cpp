#include "store/payout_groups.hpp"

#include "model/error.hpp"
#include "model/ledger_address.hpp"
#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {

namespace {

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

std::optional<Timestamp> read_time(db::Query& query) {
  const Value time = query.step() ? query.column(0) : Value::null();
  if (time.is_null()) return std::nullopt;
  return Timestamp{time.integer};
}

// The latest confirmation among the group's CLAIM_ALL claims.
std::optional<Timestamp> latest_claim_all(db::Connection& connection, std::int64_t group) {
  db::Query query = connection.query(
      "SELECT max(confirmed_at) FROM claims WHERE payout_group_id = $group"
      " AND onchain_status = $confirmed AND claim_type = $claim_all");
  query.bind("$group", Value::of(group))
      .bind("$confirmed", Value::of(static_cast<std::int64_t>(ClaimStatus::confirmed)))
      .bind("$claim_all", Value::of(connection.symbols().find("CLAIM_ALL").value_or(0)));
  return read_time(query);
}

Value nullable(const std::optional<Timestamp>& time) {
  return time ? Value::of(time->microseconds) : Value::null();
}

void raise(PayoutGroup& group, const std::optional<Timestamp>& confirmed_at) {
  if (confirmed_at && (!group.last_claim_all_at || *group.last_claim_all_at < *confirmed_at)) {
    group.last_claim_all_at = confirmed_at;
  }
}

}  // namespace

Listing payout_groups_listing(db::Connection& connection, const ListPayoutGroups& request,
                              Ownership ownership) {
  Listing listing("payout_groups", select_list<PayoutGroup>(), PayoutGroup::fields::count,
                  std::move(ownership), connection.symbols());
  listing.equal_anywhere<GroupId>("id", request.id);
  if (request.claimer_address) {
    // An EVM address has one form on all of its ledgers.
    const Ledger ledger = request.ledger.value_or(Ledger::ethereum);
    const std::string address = sought_address(ledger, request.claimer_address->value);
    listing.choose({{"claimer_address = ?", {listing.own(address)}}}, true);
  }
  listing.equal<Term>("jurisdiction", request.jurisdiction);
  listing.among<Word>("onchain_status", request.onchain_status);
  listing.equal<Term>("asset_type", request.asset_type);
  listing.equal<Ledger>("ledger", request.ledger);
  if (request.name_prefix) {
    // 0xFF is in no UTF-8 text, so it ends the names that begin with the prefix.
    listing.choose({{"name >= ? AND name < ?",
                     {listing.own(request.name_prefix->value),
                      listing.own(request.name_prefix->value + '\xFF')}}},
                   true);
  }
  return listing;
}

bool insert_payout_group(db::Connection& connection, PayoutGroup group) {
  const std::optional<std::int64_t> named = connection.symbols().find(group.id.value);
  std::optional<Timestamp> confirmed_at;
  if (named) {  // else no claim or address refers to it
    check_claims_agree(connection, *named, connection.symbols().intern(customer_of(group)));
    check_ledger_agrees(connection, *named, group.ledger);
    confirmed_at = latest_claim_all(connection, *named);
    raise(group, confirmed_at);
  }
  insert(connection, group, {{"claim_all_confirmed_at", nullable(confirmed_at)}});
  return !named || !group.jurisdiction || begin_jurisdiction_change(connection, *named);
}

bool update_payout_group(db::Connection& connection, const Stored<PayoutGroup>& before,
                         const PayoutGroup& after) {
  const std::int64_t symbol = connection.symbols().intern(after.id.value);
  if (before.record.ledger != after.ledger) check_ledger_agrees(connection, symbol, after.ledger);
  update(connection, before.key, after);
  return before.record.jurisdiction == after.jurisdiction ||
         begin_jurisdiction_change(connection, symbol);
}

void raise_to_claims(db::Connection& connection, PayoutGroup& group) {
  db::Query query =
      connection.query("SELECT claim_all_confirmed_at FROM payout_groups WHERE id = $group");
  query.bind("$group", Value::of(connection.symbols().find(group.id.value).value_or(0)));
  raise(group, read_time(query));
}

void raise_last_claim_all(db::Connection& connection, std::int64_t group, Timestamp at) {
  connection
      .query(
          "UPDATE payout_groups SET claim_all_confirmed_at = $at, last_claim_all_at ="
          " CASE WHEN last_claim_all_at > $at THEN last_claim_all_at ELSE $at END WHERE id = $group"
          " AND (claim_all_confirmed_at IS NULL OR claim_all_confirmed_at < $at)")
      .bind("$at", Value::of(at.microseconds))
      .bind("$group", Value::of(group))
      .run();
}

void withdraw_claim_all(db::Connection& connection, std::int64_t group, Timestamp at) {
  {
    db::Query later = connection.query(
        "SELECT 1 FROM payout_groups WHERE id = $group AND claim_all_confirmed_at > $at");
    later.bind("$group", Value::of(group)).bind("$at", Value::of(at.microseconds));
    if (later.step()) return;
  }
  connection.query("UPDATE payout_groups SET claim_all_confirmed_at = $at WHERE id = $group")
      .bind("$at", nullable(latest_claim_all(connection, group)))
      .bind("$group", Value::of(group))
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
