#include "store/reward_addresses.hpp"

#include "model/ledger_address.hpp"

namespace comptroller::store {

Listing reward_addresses_listing(db::Connection& connection, const ListRewardAddresses& request,
                                 std::optional<Timestamp> balance_at, Ownership ownership) {
  Listing listing("reward_addresses",
                  select_list<RewardAddress>(balance_at ? balance_as_of : "NULL"),
                  RewardAddress::fields::count, std::move(ownership), connection.symbols());
  if (balance_at) listing.bind_column(Value::of(balance_at->microseconds));
  listing.equal_anywhere<Uuid>("id", request.id);
  if (request.address) {
    // Without a ledger the address may be on any: one driver each, in the form it has there.
    std::vector<Condition> conditions;
    for (std::size_t code = 0; code < words_of<Ledger>.size(); ++code) {
      const auto ledger = static_cast<Ledger>(code);
      if (request.ledger && ledger != *request.ledger) continue;
      const std::string form = sought_address(ledger, request.address->value);
      conditions.push_back({"ledger = ? AND address = ?",
                            {Value::of(static_cast<std::int64_t>(code)), listing.own(form)}});
    }
    listing.choose(std::move(conditions), false);
  }
  listing.equal_anywhere<GroupId>("payout_group_id", request.payout_group_id);
  listing.equal<Ledger>("ledger", request.ledger);
  return listing;
}

std::optional<Stored<RewardAddress>> find_address(db::Connection& connection, Ledger ledger,
                                                  std::string_view canonical) {
  static const std::string sql = "SELECT " + select_list<RewardAddress>() +
                                 ", key FROM reward_addresses"
                                 " WHERE ledger = $ledger AND address = $address";
  db::Query query = connection.query(sql);
  query.bind("$ledger", Value::of(static_cast<std::int64_t>(ledger)))
      .bind("$address", Value::of(canonical));
  if (!query.step()) return std::nullopt;
  return Stored<RewardAddress>{query.column(static_cast<int>(RewardAddress::fields::count)).integer,
                               read_row<RewardAddress>(query, connection.symbols())};
}

Listing balances_listing(db::Connection& connection, const ListBalances& request) {
  Listing listing("balances", select_list<Balance>(), Balance::fields::count, {{0}, false},
                  connection.symbols());
  listing.keyed_by("at", "key");
  if (request.address_id) {
    listing.equal_anywhere<Uuid>("address_id", request.address_id);
  } else {
    listing.choose({{"1", {}}}, false);
  }
  return listing;
}

std::optional<Balance> find_balance(db::Connection& connection, const Uuid& address_id,
                                    Timestamp at) {
  static const std::string sql = "SELECT " + select_list<Balance>() +
                                 " FROM balances WHERE address_id = $address_id AND at = $at";
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  query.bind("$address_id", parameters.of(address_id)).bind("$at", Value::of(at.microseconds));
  if (!query.step()) return std::nullopt;
  return read_row<Balance>(query, connection.symbols());
}

}  // namespace comptroller::store
