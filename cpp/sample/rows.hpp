// The rows of every kind, their proportions, and the period that they cover.
#pragma once

#include <cstdint>
#include <functional>

#include "sample/values.hpp"

namespace comptroller {
struct Balance;
struct Claim;
struct Control;
struct Orchestration;
struct PayoutGroup;
struct RewardAddress;
struct StoredIdentity;
}  // namespace comptroller

namespace comptroller::sample {

struct Setting {
  std::uint64_t seed;
  std::uint64_t rows;  // rows of the kind
};

// Returns the record of a row. Kinds whose records always have a customer get `default`.
StoredIdentity identity_at(const Setting& setting, std::uint64_t index);
Control control_at(const Setting& setting, std::uint64_t index);
Orchestration orchestration_at(const Setting& setting, std::uint64_t index);
PayoutGroup group_at(const Setting& setting, std::uint64_t index);
RewardAddress address_at(const Setting& setting, std::uint64_t index);
Balance balance_at(const Setting& setting, std::uint64_t index);

// A cluster is five groups, one per ledger, with forty addresses in total.
inline constexpr std::uint64_t ledgers = enum_texts<Ledger>.size();
inline constexpr std::uint64_t cluster_addresses = 40;

// Returns a function that makes the claim of a row. Call it for every row in order: a claim claims
// what its group earned since the claim before that did not fail. All claims share one table of the
// groups and addresses that they name.
std::function<Claim(std::uint64_t index)> claims_of(const Setting& setting);

// Returns what a group earns in a year, by the holdings of its addresses.
Int128 annual_rewards(std::uint64_t seed, std::uint64_t index, const PayoutGroup& group);

// The addresses of a group that may claim, as a range of rows.
struct AddressRows {
  std::uint64_t first;
  std::uint64_t count;
};
AddressRows claiming_rows(std::uint64_t group);

// Claims, controls and orchestrations are in these two years; the records that they name are older.
inline constexpr std::uint64_t activity_days = 730;
inline constexpr std::uint64_t activity_ends_us = date_us(2026, 6, 30);
inline constexpr std::uint64_t activity_begins_us = activity_ends_us - activity_days * day_us;

inline constexpr std::uint64_t max_groups = 500;
inline constexpr std::uint64_t snapshots = 7;  // balances per address
// The numbers of identities and orchestrations for each control.
inline constexpr std::uint64_t control_identities = 2;
inline constexpr std::uint64_t control_orchestrations = 10;

// The number of groups grows with the square root of the number of claims, up to 500 for a million.
constexpr std::uint64_t groups_of_claims(std::uint64_t claims) {
  std::uint64_t groups = 5;
  while (groups < max_groups && 4 * (groups + 5) * (groups + 5) <= claims) groups += 5;
  return groups;
}

}  // namespace comptroller::sample
