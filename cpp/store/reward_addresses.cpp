#include "store/reward_addresses.hpp"

#include "model/ledger_address.hpp"

namespace comptroller::store {

Listing reward_addresses_listing(db::Connection& connection, ListRewardAddresses request,
                                 std::optional<Timestamp> balance_at, Ownership ownership) {
  if (request.address) {
    // An EVM address has one form on all of its ledgers; an address of SOLANA is its own form.
    std::string& address = request.address->value;
    address = sought_address(request.ledger.value_or(Ledger::ethereum), address);
  }
  Listing listing = make_listing<RewardAddress>(connection, request, std::move(ownership),
                                                balance_at ? balance_as_of : "NULL");
  if (balance_at) listing.bind_column(Value::of(balance_at->microseconds));
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
  return make_listing<Balance>(connection, request, {});
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
