// Reward addresses and their balances (specification 2.4, 4.4).
#pragma once

#include "model/records/rewards.hpp"
#include "store/lists.hpp"
#include "store/records.hpp"

namespace comptroller::store {

// The balance of an address at the time ?; "0" before its first balance.
inline constexpr std::string_view balance_as_of =
    "COALESCE((SELECT b.balance FROM balances AS b"
    " WHERE b.address_id = reward_addresses.id AND b.at = (SELECT max(e.at) FROM balances AS e"
    " WHERE e.address_id = reward_addresses.id AND e.at <= ?)), '0')";

// Returns the record of an address, in canonical form, on a ledger; its customer can be any.
std::optional<Stored<RewardAddress>> find_address(db::Connection& connection, Ledger ledger,
                                                  std::string_view canonical);

// Returns the balance of an address at exactly this time.
std::optional<Balance> find_balance(db::Connection& connection, const Uuid& address_id,
                                    Timestamp at);

}  // namespace comptroller::store
