// Every operation that is not a list finds records by an index; none scans a table.
#include <doctest/doctest.h>

#include <set>

#include "service/operations.hpp"
#include "service/service_fixture.hpp"
#include "store/statement_counts.hpp"

namespace comptroller::store {
namespace {

using service::ServiceFixture;

struct Called : ServiceFixture {
  std::string run(const std::string& operation, const std::string& body,
                  service::Parameters parameters = {}, std::optional<std::string> key = {}) {
    called.insert(operation);
    return service::Json(
               answer(provider, operation, std::move(parameters), body, std::move(key)).body)
        .at("/id");
  }
  std::set<std::string> called;
};

TEST_CASE_FIXTURE(Called, "no operation on one record scans a table") {
  run("identities.put", R"({"id":"i","metadata":{"k":"v"},"user_disabled":true})");
  run("identities.put", R"({"id":"i","ref_id":"r"})", {}, "key");
  run("identities.update", R"({"user_disabled":false,"admin_disabled":true})", {{"id", "i"}});
  run("identities.get", "", {{"id", "i"}});
  run("identities.permits", "", {{"id", "i"}, {"action", "BUY"}, {"at", to_string(now)}});
  const std::string control =
      run("controls.create", R"({"identity_id":"i","type":"FROZEN","reason_code":"X"})");
  run("controls.get", "", {{"id", control}});
  run("controls.delete", "", {{"control_id", control}});
  for (const char* status : {"PENDING", "COMPLETED"}) {
    now.microseconds += 1;
    run("orchestrations.put", R"({"id":"o","created_at":"2026-01-01T00:00:00Z","status":")" +
                                  std::string(status) + R"(","updated_at":")" + to_string(now) +
                                  "\"}");
  }
  run("orchestrations.get", "", {{"id", "o"}});
  const std::string address = R"("0x0000000000000000000000000000000000000001")";
  const std::string group =
      run("payout_groups.create",
          R"({"ledger":"ETHEREUM","asset_type":"E","jurisdiction":"DE","name":"N",)"
          R"("claimer_address":)" +
              address + "}");
  const std::string registered =
      run("reward_addresses.create", R"({"ledger":"ETHEREUM","address":)" + address +
                                         R"(,"payout_group_id":")" + group + "\"}");
  run("reward_addresses.get", "", {{"id", registered}});
  run("reward_addresses.update", R"({"name":"N"})", {{"id", registered}});
  run("reward_addresses.observe", R"({"status":"ACTIVE"})", {{"id", registered}});
  for (const char* at : {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}) {
    run("balances.record",
        R"({"address_id":")" + registered + R"(","balance":"1","at":")" + at + "\"}");
  }
  const std::string unknown = generated_id(999);
  for (const std::string& id : {std::string("a"), std::string("b"), std::string("c")}) {
    run("claims.put", R"({"id":")" + id + R"(","created_at":"2026-01-01T00:00:00Z","amount":"1",)" +
                          R"("claim_type":"CLAIM_ALL","onchain_status":"PENDING",)" +
                          R"("payout_group_id":")" + (id == "c" ? unknown : group) + "\"}");
  }
  run("claims.submit", R"({"tx_hash":"h"})", {{"id", "a"}});
  run("claims.confirm", "{}", {{"id", "a"}});
  run("claims.fail", R"({"error_message":"e"})", {{"id", "b"}});
  run("claims.get", "", {{"id", "a"}});
  run("payout_groups.update", R"({"jurisdiction":"FR"})", {{"id", group}});
  run("payout_groups.observe", R"({"last_claim_all_at":"2026-01-01T00:00:00Z"})", {{"id", group}});
  run("payout_groups.get", "", {{"id", group}});
  const std::string webhook = run("webhooks.create", R"({"url":"https://hooks.example.com"})");
  answer(provider, "webhooks.list");
  run("webhooks.get", "", {{"id", webhook}});
  run("webhooks.secret", "", {{"id", webhook}});
  run("webhooks.update", R"({"status":"PAUSED"})", {{"id", webhook}});
  run("webhooks.rotate", "{}", {{"id", webhook}});
  run("webhooks.test", "{}", {{"id", webhook}});
  run("webhooks.deliveries", "", {{"id", webhook}});
  run("webhooks.replay", R"({"since":"2026-01-01T00:00:00Z"})", {{"id", webhook}});
  run("webhooks.delete", "{}", {{"id", webhook}});
  called.insert("journal.prove");
  answer(provider, "journal.prove", {{"sequence", "1"}});
  answer(provider, "journal.list", {{"id", group}});
  answer(provider, "journal.list", {{"resource", "claims"}});
  answer(provider, "changes.list", {{"resources", "claims"}});

  for (const service::Operation& operation : service::operations()) {
    const std::string name(operation.name);
    CAPTURE(name);
    CHECK(called.contains(name) != name.ends_with(".list"));
  }
  check_plans(*service.database()->reader());
  service.database()->write([](db::Connection& connection) { check_plans(connection); });
}

}  // namespace
}  // namespace comptroller::store
