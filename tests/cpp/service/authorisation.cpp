#include "service/authorisation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "service/operations.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

// The scope that a client needs for each operation (specification 4 and 5). Operations for the
// operator only need one of the operator's scopes.
const std::map<std::string, std::string> scope_of_operation{
    {"identities.get", "identity:read_identity"},
    {"identities.list", "identity:read_identity"},
    {"identities.permits", "identity:read_identity"},
    {"identities.update", "identity:write_identity"},
    {"identities.put", "operator:write"},
    {"controls.get", "identity:read_identity_control"},
    {"controls.list", "identity:read_identity_control"},
    {"controls.create", "identity:write_identity_control"},
    {"controls.delete", "identity:write_identity_control"},
    {"orchestrations.get", "orchestration:read_orchestration"},
    {"orchestrations.list", "orchestration:read_orchestration"},
    {"orchestrations.put", "operator:write"},
    {"payout_groups.get", "rewards:read_payout_groups"},
    {"payout_groups.list", "rewards:read_payout_groups"},
    {"payout_groups.create", "rewards:write_payout_groups"},
    {"payout_groups.update", "rewards:write_payout_groups"},
    {"payout_groups.observe", "operator:write"},
    {"reward_addresses.get", "rewards:read_monitoring_address"},
    {"reward_addresses.list", "rewards:read_monitoring_address"},
    {"reward_addresses.create", "rewards:write_monitoring_address"},
    {"reward_addresses.update", "rewards:write_monitoring_address"},
    {"reward_addresses.observe", "operator:write"},
    {"balances.list", "operator:read"},
    {"balances.record", "operator:write"},
    {"claims.get", "rewards:read_claims"},
    {"claims.list", "rewards:read_claims"},
    {"claims.put", "operator:write"},
    {"claims.submit", "operator:write"},
    {"claims.confirm", "operator:write"},
    {"claims.fail", "operator:write"},
    {"changes.list", "changes:read"},
    {"journal.list", "journal:read"},
    {"journal.prove", "journal:read"},
    {"webhooks.list", "webhooks:read"},
    {"webhooks.get", "webhooks:read"},
    {"webhooks.create", "webhooks:write"},
    {"webhooks.update", "webhooks:write"},
    {"webhooks.delete", "webhooks:write"},
    {"webhooks.secret", "webhooks:write"},
    {"webhooks.rotate", "webhooks:write"},
    {"webhooks.test", "webhooks:write"},
    {"webhooks.deliveries", "webhooks:read"},
    {"webhooks.replay", "webhooks:write"},
};

// Whether the operator needs the scope to read.
bool is_read(const std::string& operation) {
  return operation.ends_with(".get") || operation.ends_with(".list") ||
         operation.ends_with(".permits") || operation.ends_with(".prove") ||
         operation.ends_with(".deliveries");
}

// Sends a request that is invalid for every operation, so that an authorised caller gets an error
// other than insufficient_scope.
Refusal attempt(ServiceFixture& fixture, const Principal& principal, const std::string& operation) {
  return fixture.refused(principal, operation, {{"no_such_parameter", "1"}},
                         R"({"no_such_member":1})");
}

TEST_CASE("exactly these operations exist") {
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.emplace_back(operation.name);
  std::ranges::sort(names);
  std::vector<std::string> expected;
  for (const auto& [name, scope] : scope_of_operation) expected.push_back(name);
  CHECK(names == expected);
}

TEST_CASE("a client needs the scope of an operation, and no other scope suffices") {
  ServiceFixture fixture;
  for (const auto& [operation, needed] : scope_of_operation) {
    for (const Scope& scope : all_scopes) {
      if (scope.name.starts_with("operator:")) continue;
      CAPTURE(operation);
      CAPTURE(scope.name);
      const Principal client = make_principal("acme", {}, {{std::string(scope.name)}});
      const Refusal refusal = attempt(fixture, client, operation);
      CHECK((refusal.code != "insufficient-scope") == (scope.name == needed));
      if (scope.name != needed) CHECK(refusal.detail.find(needed) != std::string::npos);
    }
    const Principal nobody = make_principal("acme", {}, std::vector<std::string>{});
    CHECK(attempt(fixture, nobody, operation).code == "insufficient-scope");
  }
}

TEST_CASE("the operator reads with operator:read and writes with operator:write") {
  ServiceFixture fixture;
  for (const auto& [operation, client_scope] : scope_of_operation) {
    CAPTURE(operation);
    const Principal reader = make_principal({}, {}, {{"operator:read"}});
    const Principal writer = make_principal({}, {}, {{"operator:write"}});
    CHECK((attempt(fixture, reader, operation).code != "insufficient-scope") == is_read(operation));
    CHECK((attempt(fixture, writer, operation).code != "insufficient-scope") ==
          !is_read(operation));
    CHECK(attempt(fixture, fixture.provider, operation).code != "insufficient-scope");
  }
}

TEST_CASE("a principal without named scopes has all scopes of its kind") {
  CHECK(make_principal("acme", {}, {}).scopes.size() == all_scopes.size() - 3);
  CHECK(make_principal({}, {}, {}).scopes ==
        std::vector<std::string>{"operator:read", "operator:write"});
  CHECK(make_principal("acme", {}, std::vector<std::string>{}).scopes.empty());
}

TEST_CASE("the actor is a client's id or customer, or names the operator") {
  CHECK(make_principal("acme", {}, {}).actor == "acme");
  CHECK(make_principal("acme", "app", {}).actor == "app");
  CHECK(make_principal({}, {}, {}).actor == "operator");
  CHECK(make_principal({}, "console", {}).actor == "operator:console");
  CHECK(make_principal({}, {}, {}, "Ada").actor == "Ada");
  CHECK(make_principal({}, "console", {}, "Ada").actor == "Ada");
  CHECK(make_principal({}, std::string(119, 'x'), {}).actor.size() == 128);
}

TEST_CASE("invalid principals are refused") {
  const auto field = [](const std::optional<std::string>& customer,
                        const std::optional<std::string>& client,
                        const std::optional<std::vector<std::string>>& scopes,
                        const std::optional<std::string>& actor = {}) {
    const Refusal refusal = refusal_of([&] { make_principal(customer, client, scopes, actor); });
    CHECK(refusal.code == "invalid-request");
    return refusal.field;
  };
  CHECK(field("a b", {}, {}) == "customer");
  CHECK(field("", {}, {}) == "customer");
  CHECK(field("acme", "", {}) == "client_id");
  CHECK(field("acme", "operator", {}) == "client_id");
  CHECK(field("acme", "operator:console", {}) == "client_id");
  CHECK(field("operator", {}, {}) == "client_id");
  CHECK(field("operator:x", {}, {}) == "client_id");
  CHECK(field({}, std::string(120, 'x'), {}) == "client_id");
  CHECK(field("acme", {}, {}, "Ada") == "actor");
  CHECK(field({}, {}, {}, "") == "actor");
  CHECK(field({}, {}, {}, std::string(129, 'x')) == "actor");
  CHECK(field("acme", {}, {{"operator:read"}}) == "scopes");
  CHECK(field({}, {}, {{"rewards:read_claims"}}) == "scopes");
  const Refusal near = refusal_of([] { make_principal("acme", {}, {{"rewards:read_claim"}}); });
  CHECK(near.detail.find("rewards:read_claims") != std::string::npos);
}

TEST_CASE("a list shows a client its own customer, and the operator all or the named customer") {
  ServiceFixture fixture;
  const auto named = [](const char* id) { return std::optional(Id{id}); };
  CHECK(listed_customer(fixture.acme, {}) == "acme");
  CHECK(listed_customer(fixture.acme, named("acme")) == "acme");
  CHECK(refusal_of([&] { listed_customer(fixture.acme, named("zenith")); }).code ==
        "customer-not-accessible");
  CHECK_FALSE(listed_customer(fixture.provider, {}).has_value());
  CHECK(listed_customer(fixture.provider, named("acme")) == "acme");
}

TEST_CASE(
    "a new record belongs to the client's customer, or to the customer that the operator names") {
  ServiceFixture fixture;
  CHECK(written_customer(fixture.acme, {}) == "acme");
  CHECK(written_customer(fixture.provider, {}) == "default");
  CHECK(written_customer(fixture.provider, Id{"acme"}) == "acme");
  CHECK(refusal_of([&] { written_customer(fixture.acme, Id{"zenith"}); }).code ==
        "customer-not-accessible");
}

TEST_CASE("a client cannot find out whether a customer exists") {
  ServiceFixture fixture;
  fixture.put_identity("z1", "zenith");
  for (const char* list : {"identities.list", "controls.list", "orchestrations.list",
                           "payout_groups.list", "reward_addresses.list", "claims.list"}) {
    CAPTURE(list);
    const Refusal there = fixture.refused(fixture.acme, list, {{"customer_id", "zenith"}});
    const Refusal nowhere = fixture.refused(fixture.acme, list, {{"customer_id", "nobody"}});
    CHECK(there.code == "customer-not-accessible");
    CHECK(there.field == "customer_id");
    CHECK(nowhere.code == there.code);
    CHECK(nowhere.detail == there.detail);
  }
}

}  // namespace
}  // namespace comptroller::service
