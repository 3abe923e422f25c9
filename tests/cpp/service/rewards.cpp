// Payout groups, reward addresses and their balances (specification 4.3, 4.4).
#include <doctest/doctest.h>

#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

constexpr const char* lower = "0x5aaeb6053f3e94c9b9a09f33669435e7ef1beaed";
constexpr const char* checksummed = "0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";

struct Rewards : ServiceFixture {
  Refusal create_refused(const Principal& principal,
                         const std::vector<std::pair<std::string, std::string>>& members) {
    return refused(principal, "reward_addresses.create", {}, body_of(members));
  }
  std::string create_address(const Principal& principal, const std::string& address = lower) {
    return call(principal, "reward_addresses.create", {},
                body_of({{"ledger", "ETHEREUM"}, {"address", address}}))
        .at("/id");
  }
  void record(const std::string& address, const std::string& balance, const std::string& at) {
    call(provider, "balances.record", {},
         body_of({{"address_id", address}, {"balance", balance}, {"at", at}}));
  }
  std::string balance_at(const std::string& instant) {
    return call(acme, "reward_addresses.list",
                {{"include_balance", "true"}, {"balance_timestamp", instant}})
        .at("/items/0/balance");
  }
};

TEST_CASE_FIXTURE(Rewards,
                  "an address is stored in one form and can be registered once, in any case") {
  const std::string id = create_address(acme);
  CHECK(call(acme, "reward_addresses.get", {{"id", id}}).at("/address") == checksummed);
  for (const char* form : {lower, checksummed, "0x5AAEB6053F3E94C9B9A09F33669435E7EF1BEAED"}) {
    const Refusal taken = create_refused(acme, {{"ledger", "ETHEREUM"}, {"address", form}});
    CHECK(taken.code == "already-exists");
    CHECK(taken.existing == id);
    CHECK(count(acme, "reward_addresses.list", {{"address", form}}) == 1);
    CHECK(count(acme, "reward_addresses.list", {{"address", form}, {"ledger", "ETHEREUM"}}) == 1);
    CHECK(count(acme, "reward_addresses.list", {{"address", form}, {"ledger", "INK"}}) == 0);
  }
  // A filter accepts any case, even with a wrong checksum.
  const std::string wrong_checksum = "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed";
  CHECK(count(acme, "reward_addresses.list", {{"address", wrong_checksum}}) == 1);
  CHECK(create_refused(acme, {{"ledger", "INK"}, {"address", lower}}).code.empty());
  const Refusal wrong = create_refused(
      acme, {{"ledger", "XLAYER"}, {"address", "0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed"}});
  CHECK(wrong.code == "invalid-request");
  CHECK(wrong.field == "address");
}

TEST_CASE_FIXTURE(Rewards, "an address is attributed to a group of its customer and ledger") {
  const std::string group = create_group(acme);
  const std::string ink = create_group(acme, "INK");
  const std::string foreign = create_group(zenith);
  const auto with = [&](const std::string& id) {
    return create_refused(acme,
                          {{"ledger", "ETHEREUM"}, {"address", lower}, {"payout_group_id", id}});
  };
  CHECK(with(ink).code == "ledger-mismatch");
  CHECK(with(ink).field == "payout_group_id");
  CHECK(with(foreign).code == "not-found");
  CHECK(with("no-uuid").code == "invalid-request");
  CHECK(create_refused(provider,
                       {{"ledger", "ETHEREUM"}, {"address", lower}, {"payout_group_id", group}})
            .code == "not-found");
  CHECK(with(group).code.empty());
}

TEST_CASE_FIXTURE(
    Rewards, "an address is PENDING after each change of group, then as the operator observes") {
  const std::string id = create_address(acme);
  const auto update = [&](const std::string& body) {
    return call(acme, "reward_addresses.update", {{"id", id}}, body);
  };
  CHECK(update("{}").at("/status") == "UNREGISTERED");
  const std::string first = create_group(acme);
  CHECK(update(R"({"payout_group_id":")" + first + "\"}").at("/status") == "PENDING");
  call(provider, "reward_addresses.observe", {{"id", id}}, R"({"status":"ACTIVE"})");
  CHECK(update(R"({"payout_group_id":")" + first + "\"}").at("/status") == "ACTIVE");
  const std::string second = create_group(acme);
  const Json moved = update(R"({"payout_group_id":")" + second + R"(","name":"N"})");
  CHECK(moved.at("/status") == "PENDING");
  CHECK(moved.at("/payout_group_id") == second);
  CHECK(moved.at("/name") == "N");
  CHECK(code(acme, "reward_addresses.update", {{"id", id}}, R"({"payout_group_id":null})") ==
        "invalid-request");
  CHECK(code(acme, "reward_addresses.update", {{"id", id}},
             R"({"payout_group_id":")" + create_group(acme, "SOLANA") + "\"}") ==
        "ledger-mismatch");
  CHECK(code(acme, "reward_addresses.update", {{"id", id}},
             R"({"payout_group_id":")" + create_group(zenith) + "\"}") == "not-found");
  CHECK(code(acme, "reward_addresses.update", {{"id", id}}, R"({"status":"ACTIVE"})") ==
        "invalid-request");
}

TEST_CASE_FIXTURE(Rewards, "a balance is the newest one recorded at or before the requested time") {
  const std::string id = create_address(acme);
  record(id, "2.50", "2026-01-02T00:00:00Z");
  record(id, "1", "2026-01-01T00:00:00Z");
  record(id, "9", "2027-01-01T00:00:00Z");
  CHECK(balance_at("2025-12-31T23:59:59.999999Z") == "0");
  CHECK(balance_at("2026-01-01T00:00:00Z") == "1");
  CHECK(balance_at("2026-01-01T23:59:59.999999Z") == "1");
  CHECK(balance_at("2026-01-02T00:00:00Z") == "2.50");
  CHECK(balance_at("2027-01-01T00:00:00Z") == "9");
  CHECK(call(acme, "reward_addresses.list", {{"include_balance", "true"}}).at("/items/0/balance") ==
        "2.50");  // now is March 2026
  CHECK(call(acme, "reward_addresses.list").at("/items/0/balance") == "(none)");
  CHECK(
      call(acme, "reward_addresses.list", {{"include_balance", "false"}}).at("/items/0/balance") ==
      "(none)");
  CHECK(call(acme, "reward_addresses.get", {{"id", id}}).at("/balance") == "(none)");
}

TEST_CASE_FIXTURE(Rewards, "a balance at one time has one value, and its address must exist") {
  const std::string id = create_address(acme);
  record(id, "1.5", "2026-01-01T00:00:00Z");
  record(id, "1.50", "2026-01-01T00:00:00Z");
  CHECK(count(provider, "balances.list", {{"address_id", id}}) == 1);
  const auto refused_record = [&](const std::string& address, const std::string& balance) {
    return refused(
        provider, "balances.record", {},
        body_of({{"address_id", address}, {"balance", balance}, {"at", "2026-01-01T00:00:00Z"}}));
  };
  CHECK(refused_record(id, "1.6").code == "already-exists");
  CHECK(refused_record(generated_id(999), "1").code == "not-found");
  for (const char* balance : {"-1", "-0", "1e3", "+1", ".5", "1.", "NaN", "", " 1", "1_0",
                              "123456789012345678901", "0.1234567890123456789"}) {
    CAPTURE(balance);
    CHECK(refused_record(id, balance).field == "balance");
  }
}

TEST_CASE_FIXTURE(Rewards, "a client can change the jurisdiction and name of its groups") {
  const std::string group = create_group(acme);
  now.microseconds += one_hour_us;
  const auto update = [&](const std::string& body) {
    return call(acme, "payout_groups.update", {{"id", group}}, body);
  };
  CHECK(update("{}").at("/updated_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(update(R"({"name":"Second"})").at("/updated_at") == "2026-03-01T13:00:00.000000Z");
  CHECK(update(R"({"jurisdiction":"FR"})").at("/jurisdiction") == "FR");
  CHECK(call(acme, "payout_groups.get", {{"id", group}}).at("/name") == "Second");
  for (const char* member : {"onchain_status", "balance", "ledger", "claimer_address", "rate_id"}) {
    CHECK(refused(acme, "payout_groups.update", {{"id", group}},
                  "{\"" + std::string(member) + "\":\"X\"}")
              .field == member);
  }
}

TEST_CASE_FIXTURE(Rewards, "the operator records the observed on-chain state of a group") {
  const std::string group = create_group(acme, "ETHEREUM", R"(,"schedule_type":"DAILY")");
  const Json before = call(acme, "payout_groups.get", {{"id", group}});
  CHECK(before.at("/onchain_status") == "UNREGISTERED");
  CHECK(before.at("/balance") == "0");
  CHECK(before.at("/schedule_type") == "DAILY");
  CHECK(before.at("/manager_address") == before.at("/claimer_address"));
  CHECK(before.at("/destination_address") == before.at("/claimer_address"));
  const Json seen = call(provider, "payout_groups.observe", {{"id", group}},
                         R"({"onchain_status":"ACTIVE","balance":"1.5","rate_id":"r",)"
                         R"("onchain_group_id":"7","last_claim_all_at":"2026-01-01T00:00:00Z"})");
  CHECK(seen.at("/onchain_status") == "ACTIVE");
  CHECK(seen.at("/balance") == "1.5");
  CHECK(seen.at("/balance_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(seen.at("/rate_id") == "r");
  CHECK(seen.at("/onchain_group_id") == "7");
  CHECK(seen.at("/last_claim_all_at") == "2026-01-01T00:00:00.000000Z");
  CHECK(code(acme, "payout_groups.observe", {{"id", group}}, "{}") == "insufficient-scope");
  CHECK(code(acme, "payout_groups.create", {},
             R"({"ledger":"ETHEREUM","asset_type":"E","jurisdiction":"J","name":"N",)"
             R"("claimer_address":"0x0000000000000000000000000000000000000001",)"
             R"("schedule_type":"WEEKLY"})") == "invalid-request");
}

}  // namespace
}  // namespace comptroller::service
