// Two customers, every operation: records of another customer get the same answers as missing ones.
#include <doctest/doctest.h>

#include "service/operations.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

struct Tenants : ServiceFixture {
  std::string control, group, address;
  static constexpr const char* claim = "claim-of-acme";
  static constexpr const char* orchestration = "orchestration-of-acme";
  static constexpr const char* unknown = "00000000-0000-7000-8000-ffffffffffff";

  Tenants() {
    put_identity("identity-of-acme", "acme");
    control = create_control(acme, "identity-of-acme", "CLOSED");
    group = create_group(acme);
    address = call(acme, "reward_addresses.create", {},
                   body_of({{"ledger", "ETHEREUM"},
                            {"address", "0x0000000000000000000000000000000000000009"}}))
                  .at("/id");
    call(provider, "claims.put", {},
         R"({"id":"claim-of-acme","payout_group_id":")" + group +
             R"(","claim_type":"CLAIM_ALL","onchain_status":"PENDING","amount":"1",)"
             R"("created_at":"2026-01-01T00:00:00Z","customer_id":"acme"})");
    call(provider, "orchestrations.put", {},
         R"({"id":"orchestration-of-acme","status":"PROCESSING","customer_id":"acme",)"
         R"("created_at":"2026-01-01T00:00:00Z"})");
  }
};

struct Attempt {
  const char* operation;
  Parameters parameters;
  std::string body;
};

// All ways in which a client can name a record by its id.
std::vector<Attempt> attempts_on(const std::string& identity, const std::string& control,
                                 const std::string& orchestration, const std::string& group,
                                 const std::string& address, const std::string& claim) {
  return {{"identities.get", {{"id", identity}}, ""},
          {"identities.permits", {{"id", identity}, {"action", "SELL"}}, ""},
          {"identities.update", {{"id", identity}}, R"({"user_disabled":true})"},
          {"identities.update", {{"id", identity}}, R"({"metadata":{"k":"v"}})"},
          {"controls.create",
           {},
           body_of({{"identity_id", identity}, {"type", "DORMANT"}, {"reason_code", "X"}})},
          {"controls.get", {{"id", control}}, ""},
          {"controls.delete", {{"control_id", control}}, ""},
          {"controls.delete", {}, body_of({{"id", control}, {"identity_id", identity}})},
          {"orchestrations.get", {{"id", orchestration}}, ""},
          {"payout_groups.get", {{"id", group}}, ""},
          {"payout_groups.update", {{"id", group}}, R"({"name":"Taken"})"},
          {"payout_groups.update", {{"id", group}}, "{}"},
          {"reward_addresses.get", {{"id", address}}, ""},
          {"reward_addresses.update", {{"id", address}}, R"({"name":"Taken"})"},
          {"reward_addresses.create",
           {},
           body_of({{"ledger", "ETHEREUM"},
                    {"address", "0x00000000000000000000000000000000000000aa"},
                    {"payout_group_id", group}})},
          {"claims.get", {{"id", claim}}, ""}};
}

std::string without(std::string text, const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), "*");
    }
  }
  return text;
}

TEST_CASE_FIXTURE(Tenants, "a foreign id gets the same answer as an unknown id") {
  const auto foreign =
      attempts_on("identity-of-acme", control, orchestration, group, address, claim);
  const auto missing = attempts_on("nobody", unknown, "nothing", unknown, unknown, "none");
  const std::vector<std::string> ids{
      "identity-of-acme", control, orchestration, group, address, claim,
      "nobody",           unknown, "nothing",     "none"};
  for (std::size_t i = 0; i < foreign.size(); ++i) {
    CAPTURE(foreign[i].operation);
    CAPTURE(foreign[i].body);
    const auto a = refused(zenith, foreign[i].operation, foreign[i].parameters, foreign[i].body);
    const auto b = refused(zenith, missing[i].operation, missing[i].parameters, missing[i].body);
    CHECK(a.code == "not-found");
    CHECK(b.code == "not-found");
    CHECK(without(a.detail, ids) == without(b.detail, ids));
    CHECK(a.existing.empty());
  }
}

TEST_CASE_FIXTURE(Tenants, "attempts on another customer's records change nothing") {
  const std::vector<Attempt> views{{"identities.get", {{"id", "identity-of-acme"}}, ""},
                                   {"controls.get", {{"id", control}}, ""},
                                   {"payout_groups.get", {{"id", group}}, ""},
                                   {"reward_addresses.get", {{"id", address}}, ""}};
  std::vector<std::string> before;
  for (const Attempt& view : views)
    before.push_back(call(acme, view.operation, view.parameters).text());
  for (const Attempt& attempt :
       attempts_on("identity-of-acme", control, orchestration, group, address, claim)) {
    refused(zenith, attempt.operation, attempt.parameters, attempt.body);
  }
  for (std::size_t i = 0; i < views.size(); ++i) {
    CHECK(call(acme, views[i].operation, views[i].parameters).text() == before[i]);
  }
}

TEST_CASE_FIXTURE(Tenants, "a customer may name its own records") {
  for (const Attempt& attempt :
       attempts_on("identity-of-acme", control, orchestration, group, address, claim)) {
    if (std::string_view(attempt.operation) == "controls.delete" && attempt.body.empty()) continue;
    CAPTURE(attempt.operation);
    CHECK(code(acme, attempt.operation, attempt.parameters, attempt.body).empty());
  }
}

TEST_CASE_FIXTURE(Tenants, "lists show a customer its own records, with any filter") {
  const std::vector<std::pair<const char*, Parameters>> lists{
      {"identities.list", {}},
      {"identities.list", {{"control_types", "CLOSED"}}},
      {"identities.list", {{"control_reason_codes", "TEST"}}},
      {"controls.list", {}},
      {"controls.list", {{"identity_id", "identity-of-acme"}}},
      {"controls.list", {{"type", "CLOSED"}}},
      {"controls.list", {{"reason_code", "TEST"}, {"set_by", "CLIENT"}}},
      {"orchestrations.list", {}},
      {"orchestrations.list", {{"orchestration_id", orchestration}}},
      {"orchestrations.list", {{"status", "PROCESSING"}}},
      {"payout_groups.list", {}},
      {"payout_groups.list", {{"id", group}}},
      {"payout_groups.list", {{"name_prefix", "M"}}},
      {"reward_addresses.list", {}},
      {"reward_addresses.list", {{"id", address}}},
      {"reward_addresses.list", {{"address", "0x0000000000000000000000000000000000000009"}}},
      {"claims.list", {}},
      {"claims.list", {{"id", claim}}},
      {"claims.list", {{"payout_group_id", group}}},
      {"claims.list", {{"statuses", "PENDING"}}}};
  for (const auto& [list, parameters] : lists) {
    CAPTURE(list);
    CHECK(count(acme, list, parameters) == 1);
    CHECK(count(zenith, list, parameters) == 0);
    CHECK(count(provider, list, parameters) == 1);
    Parameters named = parameters;
    named.push_back({"customer_id", "acme"});
    CHECK(count(provider, list, named) == 1);
    named.back().value = "zenith";
    CHECK(count(provider, list, named) == 0);
    named.back().value = "nobody";
    CHECK(count(provider, list, named) == 0);
  }
}

TEST_CASE_FIXTURE(Tenants,
                  "only the operator sees the customer of a group, address, claim or control") {
  for (const char* list :
       {"controls.list", "payout_groups.list", "reward_addresses.list", "claims.list"}) {
    CAPTURE(list);
    CHECK(call(provider, list).at("/items/0/customer_id") == "acme");
    CHECK(call(acme, list).at("/items/0/customer_id") == "(none)");
  }
  CHECK(call(acme, "payout_groups.get", {{"id", group}}).at("/customer_id") == "(none)");
  CHECK(call(provider, "payout_groups.get", {{"id", group}}).at("/customer_id") == "acme");
}

TEST_CASE_FIXTURE(
    Tenants, "a registered address is a conflict for everyone, but only its owner sees its id") {
  const std::string body =
      body_of({{"ledger", "ETHEREUM"}, {"address", "0x0000000000000000000000000000000000000009"}});
  const Refusal own = refused(acme, "reward_addresses.create", {}, body);
  CHECK(own.code == "already-exists");
  CHECK(own.existing == address);
  const Refusal foreign = refused(zenith, "reward_addresses.create", {}, body);
  CHECK(foreign.code == "already-exists");
  CHECK(foreign.existing.empty());
  CHECK(refused(provider, "reward_addresses.create", {}, body).existing == address);
}

TEST_CASE_FIXTURE(Tenants, "a client writes only for its own customer") {
  const std::string group_body =
      R"({"ledger":"ETHEREUM","asset_type":"E","jurisdiction":"J","name":"N",)"
      R"("claimer_address":"0x0000000000000000000000000000000000000001","customer_id":")";
  CHECK(code(acme, "payout_groups.create", {}, group_body + "acme\"}").empty());
  CHECK(code(acme, "payout_groups.create", {}, group_body + "zenith\"}") ==
        "customer-not-accessible");
  const std::string address_body =
      R"({"ledger":"ETHEREUM","address":"0x00000000000000000000000000000000000000bb","customer_id":")";
  CHECK(code(acme, "reward_addresses.create", {}, address_body + "nobody\"}") ==
        "customer-not-accessible");
  CHECK(code(acme, "reward_addresses.create", {}, address_body + "acme\"}").empty());
}

}  // namespace
}  // namespace comptroller::service
