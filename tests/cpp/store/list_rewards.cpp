#include <doctest/doctest.h>

#include <map>

#include "model/ledger_address.hpp"
#include "store/brute_force.hpp"

namespace comptroller::store {
namespace {

const std::vector<std::string> assets{"ETH", "SOL", "ARB"};
const std::vector<std::string> jurisdictions{"DE", "FR", "US"};
const std::vector<std::string> words{"UNREGISTERED", "ACTIVE", "NEW_WORD"};
const std::vector<std::string> names{"Main", "main", "Mai", "Ma\xc3\xafn", "M\xf0\x9f\x92\xb0",
                                     "X"};
const std::vector<std::string> claimers{"0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed",
                                        "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359"};
const std::vector<std::string> ledgers{"ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE"};
constexpr const char* solana = "So11111111111111111111111111111111111111112";

std::string in_lower_case(std::string text) {
  for (char& c : text) c = c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  return text;
}

std::vector<PayoutGroup> random_groups(Dice& dice, std::size_t count) {
  std::vector<PayoutGroup> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    PayoutGroup& record = records[i];
    record.id.value = ServiceFixture::generated_id(int(i) + 1000);
    customer_of(record) = dice.pick(customers);
    record.ledger = static_cast<Ledger>(dice.below(5));
    record.asset_type = dice.maybe<Term>(assets);
    record.jurisdiction = dice.maybe<Term>(jurisdictions);
    record.onchain_status = *FieldType<Word>::parse(dice.pick(words));
    record.name = dice.maybe<Name>(names);
    record.claimer_address =
        record.ledger == Ledger::solana ? Label{solana} : Label{dice.pick(claimers)};
    record.created_at = dice.instant();
    record.updated_at = UpdatedAt{record.created_at};
  }
  return records;
}

// Some are attributed to a group of their customer and ledger.
std::vector<RewardAddress> random_addresses(Dice& dice, const std::vector<PayoutGroup>& groups,
                                            std::size_t count) {
  std::vector<RewardAddress> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    const PayoutGroup& group = dice.pick(groups);
    RewardAddress& record = records[i];
    record.id.value = ServiceFixture::generated_id(int(i) + 2000);
    customer_of(record) = customer_of(group);
    record.ledger = group.ledger;
    if (dice.chance(60)) record.payout_group_id = group.id;
    std::string digits =
        std::to_string(100 + i / 2);  // an address is used twice, on different ledgers
    record.address.value = "0x" + std::string(40 - digits.size(), 'a') + digits;
    if (record.ledger == Ledger::solana) {
      record.address.value = std::string(solana).substr(0, 42) + char('2' + i % 8);
    }
    record.created_at = dice.instant();
  }
  // An address can be registered once on a ledger.
  std::set<std::pair<Ledger, std::string>> taken;
  std::erase_if(records, [&](const RewardAddress& record) {
    return !canonical_address(record.ledger, record.address.value) ||
           !taken.emplace(record.ledger, record.address.value).second;
  });
  return records;
}

struct Rewards : ServiceFixture {
  Dice dice{99};
  std::vector<PayoutGroup> groups = random_groups(dice, 50);
  std::vector<RewardAddress> addresses = random_addresses(dice, groups, 60);

  Rewards() {
    store_records(*this, groups);
    store_records(*this, addresses);
  }
  std::vector<std::string> some(const std::vector<std::string>& from) {
    std::vector<std::string> values;
    for (std::size_t n = 1 + dice.below(3); n > 0; --n) values.push_back(dice.pick(from));
    return values;
  }
};

// Adds each filter of a list with its probability.
void add_group_filters(Filter<PayoutGroup>& filter, Rewards& rewards, std::size_t percent) {
  Dice& dice = rewards.dice;
  const auto single = [&](const char* name, const std::vector<std::string>& values, auto member) {
    if (!dice.chance(percent)) return;
    filter.among(name, {dice.pick(values)},
                 [member](const PayoutGroup& group) { return text_of(group.*member); });
  };
  if (dice.chance(percent / 2)) {
    filter.among("id", {dice.pick(rewards.groups).id.value},
                 [](const PayoutGroup& group) { return text_of(group.id); });
  }
  single("ledger", ledgers, &PayoutGroup::ledger);
  single("asset_type", {"ETH", "SOL", "ARB", "never seen"}, &PayoutGroup::asset_type);
  single("jurisdiction", jurisdictions, &PayoutGroup::jurisdiction);
  if (dice.chance(percent)) {
    filter.among("onchain_status", rewards.some(words),
                 [](const PayoutGroup& group) { return text_of(group.onchain_status); });
  }
  if (dice.chance(percent)) {
    const std::string claimer = dice.chance(20) ? solana : dice.pick(claimers);
    const std::string given = dice.chance(50) ? claimer : in_lower_case(claimer);
    filter.condition(
        "claimer_address", claimer == solana ? claimer : given,
        [claimer](const PayoutGroup& g) { return g.claimer_address == Label{claimer}; });
  }
  if (dice.chance(percent)) {
    const std::string prefix = dice.pick(std::vector<std::string>{
        "M", "Ma", "Main", "ma", "Ma\xc3\xaf", "\xf0\x9f\x92\xb0", "M\xf0\x9f\x92\xb0", "Mainz"});
    filter.condition("name_prefix", prefix, [prefix](const PayoutGroup& g) {
      return g.name && g.name->value.starts_with(prefix);
    });
  }
}

TEST_CASE_FIXTURE(Rewards, "payout groups: every filter, alone and combined, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check_filter<PayoutGroup>(*this, "payout_groups.list", groups, {}, caller);
    for (int round = 0; round < 25; ++round) {
      Filter<PayoutGroup> filter;
      add_group_filters(filter, *this, round < 12 ? 15 : 40);
      check_filter<PayoutGroup>(*this, "payout_groups.list", groups, filter, caller);
    }
  }
}

TEST_CASE("payout groups: a prefix that more than 1,000 groups have") {
  ServiceFixture fixture;
  Dice dice(5);
  std::vector<PayoutGroup> groups = random_groups(dice, 2'400);
  for (std::size_t i = 0; i < groups.size(); ++i) {
    groups[i].name = Name{(i % 7 == 0 ? "X" : "M") + std::to_string(i)};
    customer_of(groups[i]) = i % 3 == 0 ? "zenith" : "acme";
  }
  store_records(fixture, groups);
  for (const Caller& caller : callers(fixture)) {
    for (const char* const prefix : {"M", "M1"}) {  // of more than 1,000 and fewer of acme's groups
      Filter<PayoutGroup> filter;
      filter.condition("name_prefix", prefix, [prefix](const PayoutGroup& group) {
        return group.name->value.starts_with(prefix);
      });
      check_filter<PayoutGroup>(fixture, "payout_groups.list", groups, filter, caller, large_pages);
      filter.among("ledger", {"INK"},
                   [](const PayoutGroup& group) { return text_of(group.ledger); });
      check_filter<PayoutGroup>(fixture, "payout_groups.list", groups, filter, caller, large_pages);
    }
  }
}

TEST_CASE_FIXTURE(Rewards, "reward addresses: every filter, alone and combined, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check_filter<RewardAddress>(*this, "reward_addresses.list", addresses, {}, caller);
    for (int round = 0; round < 25; ++round) {
      const std::size_t percent = round < 12 ? 25 : 50;
      Filter<RewardAddress> filter;
      if (dice.chance(percent / 3)) {
        filter.among("id", {dice.pick(addresses).id.value},
                     [](const RewardAddress& address) { return text_of(address.id); });
      }
      if (dice.chance(percent)) {
        filter.among("ledger", {dice.pick(ledgers)},
                     [](const RewardAddress& address) { return text_of(address.ledger); });
      }
      if (dice.chance(percent)) {
        const std::string wanted = dice.pick(addresses).address.value;
        filter.condition("address", wanted, [wanted](const RewardAddress& address) {
          return address.address.value == wanted;
        });
      }
      if (dice.chance(percent)) {
        filter.among("payout_group_id", {dice.pick(groups).id.value},
                     [](const RewardAddress& address) { return text_of(address.payout_group_id); });
      }
      check_filter<RewardAddress>(*this, "reward_addresses.list", addresses, filter, caller);
    }
  }
}

TEST_CASE_FIXTURE(Rewards, "balances: all, and those of one address, by time") {
  std::vector<Balance> balances;
  std::set<std::pair<std::string, Timestamp>> taken;
  for (int i = 0; i < 60; ++i) {
    const Uuid& id = addresses[dice.below(5)].id;
    const Timestamp at{dice.instant().microseconds + std::int64_t(dice.below(4))};
    if (taken.emplace(id.value, at).second) balances.push_back({id, {std::to_string(i)}, at});
  }
  store_records(*this, balances);
  for (std::size_t i = 0; i <= 6; ++i) {
    std::vector<std::pair<Timestamp, std::string>> expected;
    Parameters parameters;
    if (i > 0) parameters.push_back({"address_id", addresses[i - 1].id.value});
    for (const Balance& balance : balances) {
      if (i > 0 && balance.address_id != addresses[i - 1].id) continue;
      expected.emplace_back(balance.at, balance.balance.text);
    }
    check_list<Balance>(*this, provider, "balances.list", parameters, expected, "balance");
  }
}

}  // namespace
}  // namespace comptroller::store
