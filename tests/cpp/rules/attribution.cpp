#include "rules/attribution.hpp"

#include <doctest/doctest.h>

#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

const std::string lower = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
const std::string checksummed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const std::string wrong_checksum = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
const std::string other = "0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359";
const std::string solana = "So11111111111111111111111111111111111111112";

CreatePayoutGroup group_request(Ledger ledger, const std::string& claimer) {
  CreatePayoutGroup request;
  request.ledger = ledger;
  request.asset_type = Term{"ETH"};
  request.jurisdiction = Term{"DE"};
  request.name = Name{"Main"};
  request.claimer_address = Label{claimer};
  request.schedule_type = ScheduleType::daily;
  return request;
}

PayoutGroup some_group() {
  return create_group(group_request(Ledger::ethereum, lower), earlier_moment, "g1");
}

std::string refused_field(auto action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    REQUIRE(error.errors().size() == 1);
    CHECK(error.code() == Code::invalid_request);
    return error.errors()[0].field;
  }
}

TEST_CASE("a new group has the given members and initial values") {
  const PayoutGroup group = create_group(group_request(Ledger::ethereum, lower), instant, "g1");
  CHECK(group.id.value == "g1");
  CHECK(group.ledger == Ledger::ethereum);
  CHECK(group.asset_type == Term{"ETH"});
  CHECK(group.jurisdiction == Term{"DE"});
  CHECK(group.name == Name{"Main"});
  CHECK(group.schedule_type == ScheduleType::daily);
  CHECK(group.claimer_address == Label{checksummed});
  CHECK(group.manager_address == Label{checksummed});
  CHECK(group.destination_address == Label{checksummed});
  CHECK(group.onchain_status == Word{"UNREGISTERED"});
  REQUIRE(group.balance.has_value());
  CHECK(group.balance->text == "0");
  CHECK(group.created_at == instant);
  CHECK(group.updated_at == UpdatedAt{instant});
  CHECK_FALSE(group.rate_id.has_value());
  CHECK_FALSE(group.balance_at.has_value());
  CHECK_FALSE(group.onchain_group_id.has_value());
  CHECK_FALSE(group.last_claim_all_at.has_value());
  CHECK(create_group(group_request(Ledger::solana, solana), instant, "g2").claimer_address ==
        Label{solana});
}

TEST_CASE("a group's addresses must be valid on its ledger") {
  for (const auto& [ledger, address] : {std::pair{Ledger::solana, lower},
                                        {Ledger::ethereum, solana},
                                        {Ledger::ink, wrong_checksum}}) {
    CAPTURE(address);
    CHECK(refused_field([&] { create_group(group_request(ledger, address), instant, "g"); }) ==
          "claimer_address");
  }
  PayoutGroup line = some_group();
  line.manager_address = Label{"0x12"};
  CHECK(refused_field([&] { complete(line); }) == "manager_address");
  line.manager_address.reset();
  line.destination_address = Label{"0x12"};
  CHECK(refused_field([&] { complete(line); }) == "destination_address");
}

TEST_CASE("a loaded group keeps its members") {
  PayoutGroup line;
  complete(line);
  CHECK_FALSE(line.claimer_address.has_value());
  CHECK_FALSE(line.manager_address.has_value());
  CHECK_FALSE(line.destination_address.has_value());
  CHECK(line.onchain_status == Word{"UNREGISTERED"});
  line.claimer_address = Label{lower};
  line.manager_address = Label{other};
  line.destination_address = Label{other};
  line.onchain_status = Word{"ACTIVE"};
  line.balance = NonNegativeAmount{"2"};
  complete(line);
  CHECK(line.claimer_address == Label{checksummed});
  CHECK(line.manager_address == Label{other});
  CHECK(line.destination_address == Label{other});
  CHECK(line.onchain_status == Word{"ACTIVE"});
  CHECK(line.balance->text == "2");
}

TEST_CASE("an update of a group sets the given members; without members it changes nothing") {
  const PayoutGroup before = some_group();
  CHECK(update_group(before, {}, instant).updated_at == before.updated_at);
  UpdatePayoutGroup request;
  request.name = Name{"Second"};
  const PayoutGroup named = update_group(before, request, instant);
  CHECK(named.name == Name{"Second"});
  CHECK(named.jurisdiction == before.jurisdiction);
  CHECK(named.updated_at == UpdatedAt{instant});
  request = {};
  request.jurisdiction = Term{"FR"};
  const PayoutGroup moved = update_group(before, request, instant);
  CHECK(moved.name == before.name);
  CHECK(moved.jurisdiction == Term{"FR"});
  CHECK(moved.updated_at == UpdatedAt{instant});
}

TEST_CASE("an observation of a group sets the observed members, and a balance with its time") {
  const PayoutGroup before = some_group();
  CHECK(observe_group(before, {}, instant).updated_at == before.updated_at);
  ObservePayoutGroup request;
  request.balance = NonNegativeAmount{"7.5"};
  PayoutGroup after = observe_group(before, request, instant);
  CHECK(after.balance->text == "7.5");
  CHECK(after.balance_at == instant);
  request.balance_at = earlier_moment;
  CHECK(observe_group(before, request, instant).balance_at == earlier_moment);
  request = {};
  request.onchain_status = Word{"ACTIVE"};
  request.rate_id = Label{"r"};
  request.onchain_group_id = Label{"42"};
  request.last_claim_all_at = later_moment;
  after = observe_group(before, request, instant);
  CHECK(after.onchain_status == Word{"ACTIVE"});
  CHECK(after.rate_id == Label{"r"});
  CHECK(after.onchain_group_id == Label{"42"});
  CHECK(after.last_claim_all_at == later_moment);
  CHECK_FALSE(after.balance_at.has_value());
  CHECK(after.updated_at == UpdatedAt{instant});
}

TEST_CASE("an address is UNREGISTERED without a group, PENDING after each change of group") {
  CreateRewardAddress request;
  request.ledger = Ledger::ethereum;
  request.address = Label{lower};
  request.name = Name{"Mine"};
  RewardAddress address = create_address(request, instant, "a1");
  CHECK(address.id.value == "a1");
  CHECK(address.address == Label{checksummed});
  CHECK(address.name == Name{"Mine"});
  CHECK(address.created_at == instant);
  CHECK(address.status == Word{"UNREGISTERED"});
  request.payout_group_id = GroupId{{"g1"}};
  CHECK(create_address(request, instant, "a1").status == Word{"PENDING"});

  UpdateRewardAddress update;
  address.status = Word{"ACTIVE"};
  address.payout_group_id = GroupId{{"g1"}};
  CHECK(update_address(address, update).status == Word{"ACTIVE"});
  update.name = Name{"Yours"};
  update.payout_group_id = GroupId{{"g1"}};
  CHECK(update_address(address, update).name == Name{"Yours"});
  CHECK(update_address(address, update).status == Word{"ACTIVE"});
  update.payout_group_id = GroupId{{"g2"}};
  CHECK(update_address(address, update).payout_group_id == GroupId{{"g2"}});
  CHECK(update_address(address, update).status == Word{"PENDING"});
  address.status = Word{"SEEN"};
  complete(address);
  CHECK(address.status == Word{"SEEN"});
  address.address = Label{wrong_checksum};
  CHECK(refused_field([&] { complete(address); }) == "address");
}

TEST_CASE("an address and its group must be on one ledger") {
  RewardAddress address;
  address.ledger = Ledger::ink;
  PayoutGroup group = some_group();
  CHECK(code_of([&] { check_attribution(address, group); }) == "ledger-mismatch");
  group.ledger = Ledger::ink;
  CHECK(code_of([&] { check_attribution(address, group); }).empty());
}

}  // namespace
}  // namespace comptroller::rules
