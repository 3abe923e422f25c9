// Payout groups, reward addresses and the balances of addresses.
#include <array>
#include <cstring>

#include "sample/rows.hpp"

namespace comptroller::sample {
namespace {

using namespace std::string_view_literals;

constexpr std::uint64_t groups_begin_us = date_us(2024, 1, 1);
constexpr std::uint64_t addresses_begin_us = date_us(2024, 4, 1);

constexpr std::array assets{std::array{"ETH"sv, "RPL"sv, "LDO"sv, "SWISE"sv},
                            std::array{"SOL"sv, "JTO"sv, "PYTH"sv, "JUP"sv},
                            std::array{"ETH"sv, "KBTC"sv, "VELO"sv, "WSTETH"sv},
                            std::array{"OKB"sv, "ETH"sv, "XDOG"sv, "WOKB"sv},
                            std::array{"ARB"sv, "ETH"sv, "GMX"sv, "WSTETH"sv}};
constexpr std::array jurisdictions{"US"sv, "GB"sv, "DE"sv, "CH"sv, "SG"sv, "FR"sv, "NL"sv,
                                   "AE"sv, "JP"sv, "CA"sv, "AU"sv, "BR"sv, "IE"sv, "KR"sv};
constexpr std::array firms{"Northgate"sv, "Harbour"sv,  "Alpenrose"sv, "Meridian"sv, "Kestrel"sv,
                           "Bluewater"sv, "Lindgren"sv, "Octavia"sv,   "Tidemark"sv, "Sunfield"sv};
constexpr std::array trades{" Staking "sv, " Validators "sv, " Custody "sv, " Treasury "sv};
constexpr std::array address_names{"validator-"sv, "withdrawal-"sv, "cold wallet "sv,
                                   "delegate-"sv};

// Addresses of the five sizes of group, and where each size begins among a cluster's forty; the
// last of the forty belongs to no group.
constexpr std::array<std::uint64_t, ledgers> group_sizes{16, 10, 6, 4, 3};
constexpr std::array<std::uint64_t, ledgers + 1> size_begins{0, 16, 26, 32, 36, 39};
// Neighbours in a group lie apart in the file: a row of the cluster is 7 times the place, mod 40.
constexpr std::uint64_t place_to_row = 7;
constexpr std::uint64_t row_to_place = 23;
static_assert(place_to_row * row_to_place % cluster_addresses == 1);

// Sizes turn with the cluster, so that every ledger has large groups and small ones.
std::uint64_t size_class(std::uint64_t group) {
  return (group % ledgers + group / ledgers) % ledgers;
}

void write_name(Line& line, std::uint64_t number, Dice& dice) {
  line.key("name");
  line.quote();
  line.text(dice.any(firms));
  line.text(dice.favour(trades));
  line.digits(number, Line::width_of(number));
  line.end_string();
}

}  // namespace

LedgerAddress draw_address(Dice& dice, Ledger ledger) {
  LedgerAddress address{};
  char bytes[64];
  Line line(bytes);
  if (ledger == Ledger::solana) {
    line.base58(dice, 15, 44);
    address.size = 44;
  } else {
    line.text("0x");
    line.hex(dice.next(), 8);
    line.hex(dice.next(), 8);
    line.hex(dice.next(), 4);
    address.size = 42;
  }
  // Past the brace that opens every line.
  std::memcpy(address.letters, bytes + 1, address.size);
  return address;
}

Group group_at(std::uint64_t seed, std::uint64_t groups, std::uint64_t index) {
  Dice dice(seed, Stream::group, index);
  Group group;
  group.ledger = static_cast<Ledger>(index % ledgers);
  group.created_us = spread_us(index, groups, groups_begin_us, addresses_begin_us, dice);
  group.id = uuid_at(group.created_us, dice.next());
  group.asset_type = dice.favour(assets[index % ledgers]);
  group.jurisdiction = dice.favour(jurisdictions);
  // The first cluster is registered whole: it can claim for those that are not.
  const bool registered = dice.chance(920) || index < ledgers;
  group.onchain_status = registered ? "REGISTERED" : dice.chance(500) ? "PENDING" : "UNREGISTERED";
  group.dice = dice;
  return group;
}

Address address_at(std::uint64_t seed, std::uint64_t addresses, std::uint64_t index) {
  Dice dice(seed, Stream::address, index);
  const std::uint64_t cluster = index / cluster_addresses;
  const std::uint64_t place = index % cluster_addresses * row_to_place % cluster_addresses;
  std::uint64_t size = 0;
  while (place >= size_begins[size + 1] && size + 1 < ledgers) ++size;
  const std::uint64_t ledger = (size + ledgers - cluster % ledgers) % ledgers;
  Address address;
  address.ledger = static_cast<Ledger>(ledger);
  address.created_us = spread_us(index, addresses, addresses_begin_us, activity_begins_us, dice);
  address.id = uuid_at(address.created_us, dice.next());
  address.address = draw_address(dice, address.ledger);
  address.status = "UNREGISTERED";
  if (place < size_begins[ledgers]) {
    const std::uint64_t group = cluster * ledgers + ledger;
    const bool claims = place - size_begins[size] < claiming_addresses(group);
    address.group = group;
    address.status = claims || dice.chance(300) ? "ACTIVE" : "PENDING";
  }
  address.dice = dice;
  return address;
}

std::uint64_t claiming_addresses(std::uint64_t group) {
  const std::uint64_t size = group_sizes[size_class(group)];
  return size > 3 ? size - 1 : size;
}

std::uint64_t address_row(std::uint64_t group, std::uint64_t slot) {
  const std::uint64_t place = size_begins[size_class(group)] + slot;
  return group / ledgers * cluster_addresses + place * place_to_row % cluster_addresses;
}

void write_group(const Setting& setting, Line& line, std::uint64_t index) {
  const Group group = group_at(setting.seed, setting.rows, index);
  Dice dice = group.dice;
  const LedgerAddress claimer = draw_address(dice, group.ledger);
  const LedgerAddress manager = draw_address(dice, group.ledger);
  const LedgerAddress vault = draw_address(dice, group.ledger);
  const bool registered = group.onchain_status == "REGISTERED";
  const std::uint64_t updated_us =
      registered ? activity_ends_us - dice.below(static_cast<std::uint32_t>(hour_us))
                 : group.created_us + dice.skewed(5 * day_us);
  line.uuid("id", group.id);
  line.string("ledger", word(group.ledger));
  line.string("asset_type", group.asset_type);
  if (registered) line.numbered("rate_id", "rate-", 100 + dice.below(40), 3);
  line.string("jurisdiction", group.jurisdiction);
  line.string("claimer_address", claimer.text());
  line.string("onchain_status", group.onchain_status);
  if (registered) {
    const int decimals = decimals_of(group.ledger);
    const std::uint64_t units = dice.skewed(40'000);
    line.amount("balance", units, dice.next() % power_of_ten(decimals), decimals);
  } else {
    line.string("balance", "0");
  }
  line.time("created_at", group.created_us);
  line.time("updated_at", updated_us);
  write_name(line, index + 1, dice);
  line.string("manager_address", (dice.chance(600) ? manager : claimer).text());
  line.string("destination_address", (dice.chance(700) ? vault : claimer).text());
  if (registered) {
    line.numbered("onchain_group_id", "", 1000 + index, Line::width_of(1000 + index));
    line.time("balance_at", updated_us);
    line.string("schedule_type", "DAILY");
  }
  line.text(setting.given_customer);
}

void write_address(const Setting& setting, Line& line, std::uint64_t index) {
  const Address address = address_at(setting.seed, setting.rows, index);
  Dice dice = address.dice;
  line.uuid("id", address.id);
  line.string("ledger", word(address.ledger));
  line.string("address", address.address.text());
  if (dice.chance(850)) line.numbered("name", dice.favour(address_names), index % 1000, 3);
  if (address.group) {
    const std::uint64_t groups = clusters_of_addresses(setting.rows) * ledgers;
    line.uuid("payout_group_id", group_at(setting.seed, groups, *address.group).id);
  }
  line.string("status", address.status);
  line.time("created_at", address.created_us);
  line.text(setting.given_customer);
}

// One snapshot a day of every address, the last days of the span; what an address holds grows.
void write_balance(const Setting& setting, Line& line, std::uint64_t index) {
  const std::uint64_t addresses = addresses_of_balances(setting.rows);
  const std::uint64_t row = index % addresses;
  const std::uint64_t snapshot = index / addresses;
  const Address address = address_at(setting.seed, addresses, row);
  Dice dice(setting.seed, Stream::balance, row);
  const std::uint64_t opening = dice.skewed(20'000);
  const std::uint64_t daily = dice.skewed(1 + opening / 20);
  const std::uint64_t unit = power_of_ten(decimals_of(address.ledger));
  const std::uint64_t part = unit / snapshots;
  const std::uint64_t fraction = snapshot * part + dice.next() % part;
  line.uuid("address_id", address.id);
  line.amount("balance", opening + snapshot * daily, fraction, decimals_of(address.ledger));
  line.time("at", activity_ends_us - (snapshots - snapshot) * day_us + row * hour_us / addresses);
}

}  // namespace comptroller::sample
