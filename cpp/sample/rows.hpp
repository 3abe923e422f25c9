// What the kinds share: how many rows of one kind go with another, the span of time they cover, and
// the records that lines of other kinds refer to.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "model/enums.hpp"
#include "sample/dice.hpp"
#include "sample/line.hpp"

namespace comptroller::sample {

using WriteRow = std::function<void(Line&, std::uint64_t index)>;

struct Setting {
  std::uint64_t seed;
  std::uint64_t rows;
  std::string customer;        // the member customer_id and a comma
  std::string given_customer;  // the same, empty when no customer was given
};

void write_identity(const Setting& setting, Line& line, std::uint64_t index);
void write_control(const Setting& setting, Line& line, std::uint64_t index);
void write_orchestration(const Setting& setting, Line& line, std::uint64_t index);
void write_group(const Setting& setting, Line& line, std::uint64_t index);
void write_address(const Setting& setting, Line& line, std::uint64_t index);
void write_balance(const Setting& setting, Line& line, std::uint64_t index);
// Claims share tables of the groups and addresses that they name.
WriteRow claim_rows(const Setting& setting);

// Activity fills up to the last two years; what it refers to is older.
inline constexpr std::uint64_t activity_days = 730;
inline constexpr std::uint64_t activity_ends_us = date_us(2026, 6, 30);
inline constexpr std::uint64_t activity_begins_us = activity_ends_us - activity_days * day_us;

// Row `index` of `rows` spread evenly over a span of time, each anywhere in its own part of it.
constexpr std::uint64_t spread_us(std::uint64_t index, std::uint64_t rows, std::uint64_t begin_us,
                                  std::uint64_t end_us, Dice& dice) {
  const std::uint64_t step = (end_us - begin_us) / std::max<std::uint64_t>(rows, 1);
  return begin_us + index * step + dice.next() % step;
}

// Five groups, one a ledger, and the forty addresses that belong to them make a cluster.
inline constexpr std::uint64_t ledgers = 5;
inline constexpr std::uint64_t cluster_addresses = 40;
inline constexpr std::uint64_t max_groups = 500;
inline constexpr std::uint64_t snapshots = 7;

constexpr std::uint64_t clusters_of_addresses(std::uint64_t addresses) {
  return (addresses + cluster_addresses - 1) / cluster_addresses;
}
constexpr std::uint64_t addresses_of_balances(std::uint64_t balances) {
  return (balances + snapshots - 1) / snapshots;
}
// Groups grow with the square root of the claims: 500 at a million, and never more.
constexpr std::uint64_t groups_of_claims(std::uint64_t claims) {
  std::uint64_t groups = 5;
  while (groups < max_groups && 4 * (groups + 5) * (groups + 5) <= claims) groups += 5;
  return groups;
}

// With every control go two identities and ten orchestrations.
inline constexpr std::uint64_t control_identities = 2;
inline constexpr std::uint64_t control_orchestrations = 10;

constexpr std::uint64_t identities_of_orchestrations(std::uint64_t orchestrations) {
  return (orchestrations + control_orchestrations - 1) / control_orchestrations *
         control_identities;
}

struct Identity {
  Uuid id{};
  Uuid profile_id{};
  Uuid account_id{};
  std::uint64_t created_us = 0;
  Dice dice;  // for the members that no other record refers to; so in Group and Address
};
Identity identity_at(std::uint64_t seed, std::uint64_t identities, std::uint64_t index);

struct LedgerAddress {
  char letters[44];
  std::uint8_t size;
  std::string_view text() const { return {letters, size}; }
};
LedgerAddress draw_address(Dice& dice, Ledger ledger);

struct Group {
  Uuid id{};
  std::uint64_t created_us = 0;
  Ledger ledger = Ledger::ethereum;
  std::string_view asset_type;
  std::string_view jurisdiction;
  std::string_view onchain_status;
  Dice dice;
};
Group group_at(std::uint64_t seed, std::uint64_t groups, std::uint64_t index);

struct Address {
  Uuid id{};
  std::uint64_t created_us = 0;
  Ledger ledger = Ledger::ethereum;
  LedgerAddress address{};
  std::optional<std::uint64_t> group;
  std::string_view status;
  Dice dice;
};
Address address_at(std::uint64_t seed, std::uint64_t addresses, std::uint64_t index);

// The addresses of a group that may claim, and the row of each among all addresses.
std::uint64_t claiming_addresses(std::uint64_t group);
std::uint64_t address_row(std::uint64_t group, std::uint64_t slot);

// Of 9 digits on Solana, of 18 elsewhere.
constexpr int decimals_of(Ledger ledger) {
  return ledger == Ledger::solana ? 9 : 18;
}
constexpr std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}

}  // namespace comptroller::sample
