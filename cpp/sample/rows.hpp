// The rows of every kind, their numbers in proportion to each other, and the period they cover.
#pragma once

#include <cstdint>
#include <functional>

#include "model/records.hpp"
#include "sample/values.hpp"

namespace comptroller::sample {

struct Setting {
  std::uint64_t seed;
  std::uint64_t rows;  // of the kind
};

// The record of one row. Kinds whose records always have a customer get `default`.
StoredIdentity identity_at(const Setting& setting, std::uint64_t index);
Control control_at(const Setting& setting, std::uint64_t index);
Orchestration orchestration_at(const Setting& setting, std::uint64_t index);
PayoutGroup group_at(const Setting& setting, std::uint64_t index);
RewardAddress address_at(const Setting& setting, std::uint64_t index);
Balance balance_at(const Setting& setting, std::uint64_t index);

// A cluster is five groups, one per ledger, and their forty addresses.
inline constexpr std::uint64_t ledgers = words_of<Ledger>.size();
inline constexpr std::uint64_t cluster_addresses = 40;

// The claims of all rows, which share one table of the groups and addresses that they name.
std::function<Claim(std::uint64_t index)> claims_of(const Setting& setting);

// The addresses of a group that may claim: a range of the rows of all addresses.
struct AddressRows {
  std::uint64_t first;
  std::uint64_t count;
};
AddressRows claiming_rows(std::uint64_t group);

// Claims, controls and orchestrations are of these two years; the records they name are older.
inline constexpr std::uint64_t activity_days = 730;
inline constexpr std::uint64_t activity_ends_us = date_us(2026, 6, 30);
inline constexpr std::uint64_t activity_begins_us = activity_ends_us - activity_days * day_us;

inline constexpr std::uint64_t max_groups = 500;
inline constexpr std::uint64_t snapshots = 7;  // balances of an address
// Identities and orchestrations per control.
inline constexpr std::uint64_t control_identities = 2;
inline constexpr std::uint64_t control_orchestrations = 10;

// The number of groups grows with the square root of the claims, up to 500 at a million.
constexpr std::uint64_t groups_of_claims(std::uint64_t claims) {
  std::uint64_t groups = 5;
  while (groups < max_groups && 4 * (groups + 5) * (groups + 5) <= claims) groups += 5;
  return groups;
}

}  // namespace comptroller::sample
