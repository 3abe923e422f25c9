#include "store/reward_addresses.hpp"

#include "model/lists.hpp"

namespace comptroller::store {

Listing listing_for(db::Connection& connection, const ListRewardAddresses& request,
                    Ownership ownership, const ListUse& use) {
  auto listing = make_listing<RewardAddress>(connection, request, std::move(ownership));
  if (use.purpose == Purpose::analysis && request.include_balance == true) {
    listing.select(select_list<RewardAddress>(balance_as_of));
    listing.bind_column(Value::of(request.balance_timestamp.value_or(use.now).microseconds));
  }
  return listing;
}

std::optional<Stored<RewardAddress>> find_address(db::Connection& connection, Ledger ledger,
                                                  std::string_view canonical) {
  return find_where<RewardAddress>(
      connection, {"ledger = ? AND address = ?", {code_of(ledger), Value::of(canonical)}});
}

std::optional<Balance> find_balance(db::Connection& connection, const Uuid& address_id,
                                    Timestamp at) {
  BoundValues parameters(connection.symbols());
  auto stored = find_where<Balance>(
      connection, {"address_id = ? AND at = ?", {parameters.of(address_id), parameters.of(at)}});
  return stored ? std::optional(std::move(stored->record)) : std::nullopt;
}

}  // namespace comptroller::store
