// Payout groups, reward addresses and the balances of addresses.
#include "model/records/rewards.hpp"

#include <algorithm>
#include <array>
#include <string_view>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

constexpr std::uint64_t groups_begin_us = date_us(2024, 1, 1);
constexpr std::uint64_t addresses_begin_us = date_us(2024, 4, 1);

// In the order of Ledger.
constexpr std::array assets{
    std::array{"ETH", "RPL", "LDO", "SWISE"}, std::array{"SOL", "JTO", "PYTH", "JUP"},
    std::array{"ETH", "KBTC", "VELO", "WSTETH"}, std::array{"OKB", "ETH", "XDOG", "WOKB"},
    std::array{"ARB", "ETH", "GMX", "WSTETH"}};
constexpr std::array jurisdictions{"US", "GB", "DE", "CH", "SG", "FR", "NL",
                                   "AE", "JP", "CA", "AU", "BR", "IE", "KR"};
constexpr std::array firms{"Northgate", "Harbour",  "Alpenrose", "Meridian", "Kestrel",
                           "Bluewater", "Lindgren", "Octavia",   "Tidemark", "Sunfield"};
constexpr std::array trades{"Staking", "Validators", "Custody", "Treasury"};
constexpr std::array address_names{"validator-", "withdrawal-", "cold wallet ", "delegate-"};

// What holdings earn in a year, in parts per million; in the order of `assets`.
constexpr std::array rates_ppm{
    std::array{31'000, 24'000, 18'000, 42'000}, std::array{66'000, 58'000, 21'000, 35'000},
    std::array{29'000, 12'000, 47'000, 33'000}, std::array{20'000, 30'000, 55'000, 16'000},
    std::array{26'000, 28'000, 61'000, 32'000}};
constexpr int million = 1'000'000;

// The first address of each of a cluster's five groups, which have different sizes, among its forty
// addresses. The last address has no group.
constexpr std::array<std::uint64_t, ledgers + 1> size_begins{0, 16, 26, 32, 36, 39};

// The sizes rotate with the cluster, so that every ledger has large and small groups.
std::uint64_t size_of(std::uint64_t group) {
  return (group % ledgers + group / ledgers) % ledgers;
}

// What an address holds at its first snapshot, and what it gains in a day.
struct Holdings {
  Int128 opening;
  Int128 daily;
};
Holdings holdings_of(std::uint64_t seed, std::uint64_t row) {
  Random random(seed, Stream::balance, row);
  const Int128 opening = amount_below(20'000, random);
  return {opening, opening / (2'000 + random.below(6'000))};
}

}  // namespace

PayoutGroup group_at(const Setting& setting, std::uint64_t index) {
  Random random(setting.seed, Stream::group, index);
  const std::uint64_t created_us =
      spread_us(index, setting.rows, groups_begin_us, addresses_begin_us, random);
  PayoutGroup group;
  group.id.value = uuid_at(created_us, random);
  group.ledger = static_cast<Ledger>(index % ledgers);
  group.asset_type = Term{random.favour(assets[index % ledgers])};
  group.jurisdiction = Term{random.favour(jurisdictions)};
  const Label claimer{address_on(group.ledger, random)};
  group.claimer_address = claimer;
  group.created_at = timestamp(created_us);
  const std::string firm = random.any(firms);
  group.name = Name{firm + ' ' + random.favour(trades) + ' ' + std::to_string(index + 1)};
  const Label manager{address_on(group.ledger, random)};
  group.manager_address = random.chance(600) ? manager : claimer;
  const Label vault{address_on(group.ledger, random)};
  group.destination_address = random.chance(700) ? vault : claimer;
  // All groups of the first cluster are registered, because claims of unregistered groups use them.
  if (!random.chance(920) && index >= ledgers) {
    group.onchain_status = Word{random.chance(500) ? "PENDING" : "UNREGISTERED"};
    group.balance = NonNegativeAmount{"0"};
    group.updated_at = {timestamp(created_us + random.skewed(5 * day_us))};
    return group;
  }
  group.onchain_status = Word{"REGISTERED"};
  group.rate_id = Label{"rate-" + std::to_string(100 + random.below(40))};
  group.balance =
      NonNegativeAmount{amount_text(amount_below(40'000, random), decimals_of(group.ledger))};
  group.balance_at =
      timestamp(activity_ends_us - random.below(static_cast<std::uint32_t>(hour_us)));
  group.updated_at = {*group.balance_at};
  group.onchain_group_id = Label{std::to_string(1000 + index)};
  group.schedule_type = ScheduleType::daily;
  return group;
}

AddressRows claiming_rows(std::uint64_t group) {
  const std::uint64_t size = size_of(group);
  const std::uint64_t count = size_begins[size + 1] - size_begins[size];
  return {group / ledgers * cluster_addresses + size_begins[size], count > 3 ? count - 1 : count};
}

Int128 annual_rewards(std::uint64_t seed, std::uint64_t index, const PayoutGroup& group) {
  const std::uint64_t size = size_of(index);
  const std::uint64_t first = index / ledgers * cluster_addresses;
  Int128 held = 0;
  for (std::uint64_t row = size_begins[size]; row < size_begins[size + 1]; ++row) {
    held += holdings_of(seed, first + row).opening;
  }
  const auto& names = assets[index % ledgers];
  const auto asset = static_cast<std::size_t>(
      std::find(names.begin(), names.end(), group.asset_type.value_or(Term{}).value) -
      names.begin());
  // The rate of a group differs by up to 3 %, that of a few groups by more.
  Random random(seed, Stream::rate, index);
  const std::uint32_t permille =
      random.chance(50) ? 700 + random.below(700) : 970 + random.below(61);
  return held * rates_ppm[index % ledgers][asset] / million * permille / 1000;
}

RewardAddress address_at(const Setting& setting, std::uint64_t index) {
  Random random(setting.seed, Stream::address, index);
  const std::uint64_t created_us =
      spread_us(index, setting.rows, addresses_begin_us, activity_begins_us, random);
  const std::uint64_t cluster = index / cluster_addresses;
  std::uint64_t size = 0;
  while (size + 1 < ledgers && index % cluster_addresses >= size_begins[size + 1]) ++size;
  const std::uint64_t ledger = (size + ledgers - cluster % ledgers) % ledgers;
  RewardAddress address;
  address.id.value = uuid_at(created_us, random);
  address.ledger = static_cast<Ledger>(ledger);
  address.address.value = address_on(address.ledger, random);
  if (random.chance(850)) {
    address.name = Name{random.favour(address_names) + std::to_string(index % 1000)};
  }
  address.status = Word{"UNREGISTERED"};
  if (index % cluster_addresses < size_begins[ledgers]) {
    const std::uint64_t group = cluster * ledgers + ledger;
    const std::uint64_t clusters = (setting.rows + cluster_addresses - 1) / cluster_addresses;
    const AddressRows claiming = claiming_rows(group);
    const bool claims = index - claiming.first < claiming.count;
    address.payout_group_id = group_at({setting.seed, clusters * ledgers}, group).id;
    address.status = Word{claims || random.chance(300) ? "ACTIVE" : "PENDING"};
  }
  address.created_at = timestamp(created_us);
  return address;
}

// One balance of every address on each of the last days; balances grow.
Balance balance_at(const Setting& setting, std::uint64_t index) {
  const std::uint64_t addresses = (setting.rows + snapshots - 1) / snapshots;
  const std::uint64_t row = index % addresses;
  const std::uint64_t snapshot = index / addresses;
  const RewardAddress address = address_at({setting.seed, addresses}, row);
  const auto [opening, daily] = holdings_of(setting.seed, row);
  const std::uint64_t at_us =
      activity_ends_us - (snapshots - snapshot) * day_us + row * hour_us / addresses;
  return {address.id,
          {amount_text(opening + snapshot * daily, decimals_of(address.ledger))},
          timestamp(at_us)};
}

}  // namespace comptroller::sample
