// Every operation that is not a list looks records up by an index: nothing scans a table.
#include <doctest/doctest.h>

#include <set>

#include "service/operations.hpp"
#include "service/world.hpp"
#include "store/statement_counts.hpp"

namespace comptroller::store {
namespace {

using service::World;

struct Called : World {
  std::string ask(const std::string& operation, const std::string& body,
                  service::Parameters parameters = {}, std::optional<std::string> key = {}) {
    called.insert(operation);
    return service::Json(
               answer(provider, operation, std::move(parameters), body, std::move(key)).body)
        .at("/id");
  }
  std::set<std::string> called;
};

TEST_CASE_FIXTURE(Called, "no operation on one record scans a table") {
  ask("identities.put", R"({"id":"i","metadata":{"k":"v"},"user_disabled":true})");
  ask("identities.put", R"({"id":"i","ref_id":"r"})", {}, "key");
  ask("identities.update", R"({"user_disabled":false,"admin_disabled":true})", {{"id", "i"}});
  ask("identities.get", "", {{"id", "i"}});
  ask("identities.permits", "", {{"id", "i"}, {"action", "BUY"}, {"at", to_string(now)}});
  const std::string control =
      ask("controls.create", R"({"identity_id":"i","type":"FROZEN","reason_code":"X"})");
  ask("controls.get", "", {{"id", control}});
  ask("controls.delete", "", {{"control_id", control}});
  for (const char* status : {"PENDING", "COMPLETED"}) {
    now.microseconds += 1;
    ask("orchestrations.put", R"({"id":"o","created_at":"2026-01-01T00:00:00Z","status":")" +
                                  std::string(status) + R"(","updated_at":")" + to_string(now) +
                                  "\"}");
  }
  ask("orchestrations.get", "", {{"id", "o"}});
  const std::string address = R"("0x0000000000000000000000000000000000000001")";
  const std::string group =
      ask("payout_groups.create",
          R"({"ledger":"ETHEREUM","asset_type":"E","jurisdiction":"DE","name":"N",)"
          R"("claimer_address":)" +
              address + "}");
  const std::string registered =
      ask("reward_addresses.create", R"({"ledger":"ETHEREUM","address":)" + address +
                                         R"(,"payout_group_id":")" + group + "\"}");
  ask("reward_addresses.get", "", {{"id", registered}});
  ask("reward_addresses.update", R"({"name":"N"})", {{"id", registered}});
  ask("reward_addresses.observe", R"({"status":"ACTIVE"})", {{"id", registered}});
  for (const char* at : {"2026-01-01T00:00:00Z", "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"}) {
    ask("balances.record",
        R"({"address_id":")" + registered + R"(","balance":"1","at":")" + at + "\"}");
  }
  const std::string unknown = made_id(999);
  for (const std::string& id : {std::string("a"), std::string("b"), std::string("c")}) {
    ask("claims.put", R"({"id":")" + id + R"(","created_at":"2026-01-01T00:00:00Z","amount":"1",)" +
                          R"("claim_type":"CLAIM_ALL","onchain_status":"PENDING",)" +
                          R"("payout_group_id":")" + (id == "c" ? unknown : group) + "\"}");
  }
  ask("claims.submit", R"({"tx_hash":"h"})", {{"id", "a"}});
  ask("claims.confirm", "{}", {{"id", "a"}});
  ask("claims.fail", R"({"error_message":"e"})", {{"id", "b"}});
  ask("claims.get", "", {{"id", "a"}});
  ask("payout_groups.update", R"({"jurisdiction":"FR"})", {{"id", group}});
  ask("payout_groups.observe", R"({"last_claim_all_at":"2026-01-01T00:00:00Z"})", {{"id", group}});
  ask("payout_groups.get", "", {{"id", group}});

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
