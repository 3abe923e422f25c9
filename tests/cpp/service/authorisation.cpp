#include "service/authorisation.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <map>

#include "service/operations.hpp"
#include "service/world.hpp"

namespace comptroller::service {
namespace {

// The scope a client needs for each operation (specification 4 and 5); those of the operator alone
// need the operator's own.
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
};

bool is_read(const std::string& operation) {
  return operation.ends_with(".get") || operation.ends_with(".list") ||
         operation.ends_with(".permits");
}

// A request that no operation takes: whoever may call gets another refusal than one of scope.
Refusal attempt(World& world, const Principal& who, const std::string& operation) {
  return world.refused(who, operation, {{"no_such_parameter", "1"}}, R"({"no_such_member":1})");
}

TEST_CASE("every operation is known, and only these") {
  std::vector<std::string> names;
  for (const Operation& operation : operations()) names.emplace_back(operation.name);
  std::ranges::sort(names);
  std::vector<std::string> expected;
  for (const auto& [name, scope] : scope_of_operation) expected.push_back(name);
  CHECK(names == expected);
}

TEST_CASE("a client passes with the scope of an operation and with no other") {
  World world;
  for (const auto& [operation, needed] : scope_of_operation) {
    for (const Scope& scope : all_scopes) {
      if (scope.name.starts_with("operator:")) continue;
      CAPTURE(operation);
      CAPTURE(scope.name);
      const Principal client = make_principal("acme", {}, {{std::string(scope.name)}});
      const Refusal refusal = attempt(world, client, operation);
      CHECK((refusal.code != "insufficient-scope") == (scope.name == needed));
      if (scope.name != needed) CHECK(refusal.detail.find(needed) != std::string::npos);
    }
    const Principal nobody = make_principal("acme", {}, std::vector<std::string>{});
    CHECK(attempt(world, nobody, operation).code == "insufficient-scope");
  }
}

TEST_CASE("the operator reads with operator:read and writes with operator:write") {
  World world;
  for (const auto& [operation, client_scope] : scope_of_operation) {
    CAPTURE(operation);
    const Principal reader = make_principal({}, {}, {{"operator:read"}});
    const Principal writer = make_principal({}, {}, {{"operator:write"}});
    CHECK((attempt(world, reader, operation).code != "insufficient-scope") == is_read(operation));
    CHECK((attempt(world, writer, operation).code != "insufficient-scope") == !is_read(operation));
    CHECK(attempt(world, world.provider, operation).code != "insufficient-scope");
  }
}

TEST_CASE("who names no scope has all of its kind") {
  CHECK(make_principal("acme", {}, {}).scopes.size() == all_scopes.size() - 2);
  CHECK(make_principal({}, {}, {}).scopes ==
        std::vector<std::string>{"operator:read", "operator:write"});
  CHECK(make_principal("acme", {}, std::vector<std::string>{}).scopes.empty());
}

TEST_CASE("a client is named by its id, else by its customer; the operator is the operator") {
  CHECK(make_principal("acme", {}, {}).actor() == "acme");
  CHECK(make_principal("acme", "app", {}).actor() == "app");
  CHECK(make_principal({}, "console", {}).actor() == "operator");
}

TEST_CASE("principals that cannot be are refused") {
  const auto field = [](const std::optional<std::string>& customer,
                        const std::optional<std::string>& client,
                        const std::optional<std::vector<std::string>>& scopes) {
    const Refusal refusal = refusal_of([&] { make_principal(customer, client, scopes); });
    CHECK(refusal.code == "invalid-request");
    return refusal.field;
  };
  CHECK(field("a b", {}, {}) == "customer");
  CHECK(field("", {}, {}) == "customer");
  CHECK(field("acme", "", {}) == "client_id");
  CHECK(field("acme", {}, {{"operator:read"}}) == "scopes");
  CHECK(field({}, {}, {{"rewards:read_claims"}}) == "scopes");
  const Refusal near = refusal_of([] { make_principal("acme", {}, {{"rewards:read_claim"}}); });
  CHECK(near.detail.find("rewards:read_claims") != std::string::npos);
}

TEST_CASE("a list shows a client its own customer, the operator all or the one it names") {
  World world;
  const auto named = [](const char* id) { return std::optional(Id{id}); };
  CHECK(listed_customer(world.acme, {}) == "acme");
  CHECK(listed_customer(world.acme, named("acme")) == "acme");
  CHECK(refusal_of([&] { listed_customer(world.acme, named("zenith")); }).code ==
        "customer-not-accessible");
  CHECK_FALSE(listed_customer(world.provider, {}).has_value());
  CHECK(listed_customer(world.provider, named("acme")) == "acme");
}

TEST_CASE("a new record belongs to the client's customer, or the one the operator names") {
  World world;
  CHECK(written_customer(world.acme, {}) == "acme");
  CHECK(written_customer(world.provider, {}) == "default");
  CHECK(written_customer(world.provider, Id{"acme"}) == "acme");
  CHECK(refusal_of([&] { written_customer(world.acme, Id{"zenith"}); }).code ==
        "customer-not-accessible");
}

TEST_CASE("whether a customer exists makes no difference to a client that names it") {
  World world;
  world.put_identity("z1", "zenith");
  for (const char* list : {"identities.list", "controls.list", "orchestrations.list",
                           "payout_groups.list", "reward_addresses.list", "claims.list"}) {
    CAPTURE(list);
    const Refusal there = world.refused(world.acme, list, {{"customer_id", "zenith"}});
    const Refusal nowhere = world.refused(world.acme, list, {{"customer_id", "nobody"}});
    CHECK(there.code == "customer-not-accessible");
    CHECK(there.field == "customer_id");
    CHECK(nowhere.code == there.code);
    CHECK(nowhere.detail == there.detail);
  }
}

}  // namespace
}  // namespace comptroller::service
