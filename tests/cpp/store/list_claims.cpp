#include <doctest/doctest.h>

#include <map>

#include "store/brute_force.hpp"

namespace comptroller::store {
namespace {

const std::vector<std::string> chains{"ethereum", "solana", "base"};
const std::vector<std::string> statuses{"PENDING", "SUBMITTED", "CONFIRMED", "FAILED"};
const std::vector<std::string> jurisdictions{"DE", "FR"};
// One EVM hash in three spellings, and hashes whose case is significant.
const std::vector<std::string> hashes{"0x" + std::string(64, 'a'),
                                      "0x" + std::string(64, 'A'),
                                      "0X" + std::string(60, 'a') + "AaAa",
                                      "0x" + std::string(63, 'a'),
                                      "0x" + std::string(63, 'A'),
                                      "a hash",
                                      "A hash"};
const std::vector<std::string> assets{"ETH", "RPL"};
const std::vector<std::string> schedules{"daily", "weekly"};
// One EVM address in two spellings, two addresses between whose ends its digits occur, and two
// addresses whose case is significant.
const std::vector<std::string> addresses{
    "0x" + std::string(20, 'a') + std::string(20, 'b'),
    "0x" + std::string(20, 'A') + std::string(20, 'b'),
    "0x" + std::string(40, 'a'),
    "0x" + std::string(40, 'b'),
    "solana \"Address\"",
    "solana \"address\"",
};

std::string folded(std::string address) {
  if (address.starts_with("0x")) std::ranges::replace(address, 'A', 'a');
  return address;
}

std::string in_one_case(std::string hash) {
  if (hash.size() != 66) return hash;
  hash[1] = 'x';
  return folded(hash);
}

struct Claims : ServiceFixture {
  Dice dice{31};
  std::vector<PayoutGroup> groups;
  std::vector<Claim> claims;
  std::map<std::string, std::string> jurisdiction_of_group;

  Claims() {
    for (int i = 0; i < 8; ++i) {
      PayoutGroup group;
      group.id.value = generated_id(1000 + i);
      customer_of(group) = customers[std::size_t(i) % 3];
      group.jurisdiction = dice.maybe<Term>(jurisdictions);
      if (group.jurisdiction) jurisdiction_of_group[group.id.value] = group.jurisdiction->value;
      groups.push_back(std::move(group));
    }
    for (int i = 0; i < 70; ++i) {
      Claim claim;
      claim.id =
          *FieldType<Id>::parse(i % 2 == 0 ? "c" + std::to_string(i) : generated_id(i + 5000));
      // The last group does not exist; its claims belong to any customer.
      const std::size_t group = dice.below(groups.size() + 1);
      const bool is_there = group < groups.size();
      claim.payout_group_id.value = is_there ? groups[group].id.value : generated_id(1999);
      customer_of(claim) = is_there ? customer_of(groups[group]) : dice.pick(customers);
      claim.claim_type = Word{"CLAIM_ALL"};
      claim.onchain_status = static_cast<ClaimStatus>(dice.below(4));
      claim.amount = NonNegativeAmount{"1"};
      claim.blockchain = dice.maybe<Term>(chains);
      claim.created_at = dice.instant();
      claim.updated_at = UpdatedAt{dice.instant()};
      claim.tx_hash = dice.maybe<TransactionHash>(hashes);
      claim.asset_type = dice.maybe<Term>(assets);
      claim.claim_schedule_id = dice.maybe<Term>(schedules);
      if (dice.chance(80)) {
        claim.addresses.emplace();
        // Usually all of them are packed.
        const std::size_t count = dice.chance(70) ? 4 : addresses.size();
        for (std::size_t n = dice.below(4); n > 0; --n) {
          claim.addresses->push_back(Label{addresses[dice.below(count)]});
        }
      }
      claims.push_back(std::move(claim));
    }
    // Half of the groups are inserted after the claims that name them.
    store_records(*this, std::vector(groups.begin(), groups.begin() + 4));
    store_records(*this, claims);
    store_records(*this, std::vector(groups.begin() + 4, groups.end()));
  }

  void check(const Filter<Claim>& filter, const Caller& caller) {
    check_filter<Claim>(*this, "claims.list", claims, filter, caller);
  }
  void add_filters(Filter<Claim>& filter, std::size_t percent) {
    if (dice.chance(percent / 3)) {
      filter.among("id", {dice.pick(claims).id.value},
                   [](const Claim& claim) { return text_of(claim.id); });
    }
    if (dice.chance(percent)) {
      filter.among("payout_group_id", {dice.pick(claims).payout_group_id.value},
                   [](const Claim& claim) { return text_of(claim.payout_group_id); });
    }
    if (dice.chance(percent)) {
      std::vector<std::string> values;
      for (std::size_t n = 1 + dice.below(4); n > 0; --n) values.push_back(dice.pick(statuses));
      filter.among("statuses", values,
                   [](const Claim& claim) { return text_of(claim.onchain_status); });
    }
    if (dice.chance(percent)) {
      filter.among("chain", {dice.chance(15) ? "never seen" : dice.pick(chains)},
                   [](const Claim& claim) { return text_of(claim.blockchain); });
    }
    if (dice.chance(percent)) {
      const std::string wanted = dice.pick(jurisdictions);
      filter.condition("jurisdiction", wanted, [this, wanted](const Claim& claim) {
        const auto found = jurisdiction_of_group.find(claim.payout_group_id.value);
        return found != jurisdiction_of_group.end() && found->second == wanted;
      });
    }
    if (dice.chance(percent)) {
      const std::string wanted = dice.pick(hashes);
      filter.condition("tx_hash", wanted, [wanted](const Claim& claim) {
        return claim.tx_hash && in_one_case(claim.tx_hash->value) == in_one_case(wanted);
      });
    }
    if (dice.chance(percent)) {
      const std::string wanted = dice.pick(addresses);
      filter.condition("address", wanted, [wanted](const Claim& claim) {
        return std::ranges::any_of(
            claim.addresses.value_or(Addresses()),
            [&](const Label& address) { return folded(address.value) == folded(wanted); });
      });
    }
    if (dice.chance(percent)) {
      filter.among("asset_type", {dice.pick(assets)},
                   [](const Claim& claim) { return text_of(claim.asset_type); });
    }
    if (dice.chance(percent)) {
      filter.among("claim_schedule_id", {dice.pick(schedules)},
                   [](const Claim& claim) { return text_of(claim.claim_schedule_id); });
    }
    for (const Bound& bound : created_at_bounds) {
      if (!dice.chance(percent / 3)) continue;
      const Timestamp instant = dice.instant();
      filter.condition(
          "updated" + std::string(bound.name).substr(7), to_string(instant),
          [instant, &bound](const Claim& claim) { return bound.holds(claim.updated_at, instant); });
    }
    for (const Bound& bound : claim_bounds) {
      if (dice.chance(percent)) filter.bound(bound.name, dice.instant(), bound.holds);
    }
  }
};

TEST_CASE_FIXTURE(Claims, "claims: every filter, alone and combined, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check({}, caller);
    for (int round = 0; round < 30; ++round) {
      Filter<Claim> filter;
      add_filters(filter, round < 15 ? 15 : 40);
      check(filter, caller);
    }
  }
}

TEST_CASE_FIXTURE(Claims, "claims: both bounds include their time") {
  for (const Bound& bound : claim_bounds) {
    for (const Timestamp instant : Dice::instants()) {
      for (const std::int64_t off : {-1, 0, 1}) {
        Filter<Claim> filter;
        filter.bound(bound.name, Timestamp{instant.microseconds + off}, bound.holds);
        check(filter, callers(*this)[dice.below(2)]);
      }
    }
  }
}

TEST_CASE_FIXTURE(Claims, "claims: a group's new jurisdiction applies to its claims at once") {
  for (PayoutGroup& group : groups) {
    const std::string jurisdiction = dice.pick(jurisdictions);
    call(provider, "payout_groups.update", {{"id", group.id.value}},
         service::body_of({{"jurisdiction", jurisdiction}}));
    jurisdiction_of_group[group.id.value] = jurisdiction;
  }
  for (const Caller& caller : callers(*this)) {
    Filter<Claim> filter;
    filter.condition("jurisdiction", "FR", [this](const Claim& claim) {
      return jurisdiction_of_group[claim.payout_group_id.value] == "FR";
    });
    check(filter, caller);
  }
}

}  // namespace
}  // namespace comptroller::store
