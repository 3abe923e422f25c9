// The cost of an operation that is not a list does not depend on the size of the store or its
// history.
#include "service/operations.hpp"
#include "store/counted_work.hpp"

namespace comptroller::store {
namespace {

struct Case {
  const char* operation;
  Parameters parameters;
  std::string body;
};

// Stands for the id of the only webhook.
constexpr const char* id_of_webhook = "the webhook";

void check_cases(StatementRecorder& recorder, const std::vector<Case>& cases, ServiceFixture& small,
                 ServiceFixture& large) {
  for (const Case& one : cases) {
    const std::string operation(one.operation);
    CAPTURE(operation);
    const auto steps = [&](ServiceFixture& store) {
      Parameters parameters = one.parameters;
      for (service::Parameter& parameter : parameters) {
        if (parameter.value == id_of_webhook) {
          parameter.value = store.call(store.provider, "webhooks.list").at("/items/0/id");
        }
      }
      const auto ran =
          recorder.record([&] { store.call(store.provider, one.operation, parameters, one.body); });
      check_plans(recorder, ran, Sorting::allowed);
      return steps_of(ran);
    };
    check_growth({steps(small)}, {steps(large)});
  }
}

std::string member(const std::string& name, const std::string& value) {
  return '"' + name + R"(":")" + value + '"';
}

std::string new_control(const std::string& identity) {
  return '{' + member("identity_id", identity) + R"(,"type":"SELL_ONLY","reason_code":"TEST"})";
}

// One line for each operation; the order matters only for the claim.
std::vector<Case> operations_on_one_record() {
  const std::string claim = id_of(6, 100);  // PENDING, like every fourth claim
  const std::string at = R"("created_at":"2026-03-02T00:00:00Z")";
  const std::string address = R"("0x0000000000000000000000000000000000000001")";
  return {
      {"identities.get", {{"id", id_of(1, 100)}}, ""},
      {"identities.update", {{"id", id_of(1, 100)}}, R"({"metadata":{"a":"b"}})"},
      {"identities.put", {}, '{' + member("id", id_of(1, 100)) + R"(,"metadata":{"a":"c"}})"},
      {"identities.permits", {{"id", id_of(1, 100)}, {"action", "SELL"}}, ""},
      {"controls.get", {{"id", id_of(2, 100)}}, ""},
      {"controls.create", {}, new_control(id_of(1, 100))},
      {"controls.delete", {}, '{' + member("control_id", id_of(2, 100)) + '}'},
      {"orchestrations.get", {{"id", id_of(3, 100)}}, ""},
      {"orchestrations.put",
       {},
       R"({"id":"new","customer_id":"acme","status":"PROCESSING",)" + at + '}'},
      {"payout_groups.get", {{"id", id_of(4, 100)}}, ""},
      {"payout_groups.create",
       {},
       R"({"ledger":"ETHEREUM","asset_type":"A0","jurisdiction":"DE","name":"new",)"
       R"("claimer_address":)" +
           address + '}'},
      {"payout_groups.observe", {{"id", id_of(4, 100)}}, R"({"balance":"2"})"},
      {"payout_groups.update", {{"id", id_of(4, 100)}}, R"({"name":"renamed"})"},
      {"reward_addresses.get", {{"id", id_of(5, 100)}}, ""},
      {"reward_addresses.create", {}, R"({"ledger":"XLAYER","address":)" + address + '}'},
      {"reward_addresses.update", {{"id", id_of(5, 100)}}, R"({"name":"renamed"})"},
      {"reward_addresses.observe", {{"id", id_of(5, 100)}}, R"({"status":"ACTIVE"})"},
      {"balances.record",
       {},
       '{' + member("address_id", id_of(5, 0)) + R"(,"balance":"3","at":"2026-03-02T00:00:00Z"})"},
      {"claims.get", {{"id", claim}}, ""},
      {"claims.put",
       {},
       R"({"id":"new","customer_id":"acme","claim_type":"CLAIM_ALL","onchain_status":"PENDING","amount":"1",)" +
           member("payout_group_id", id_of(4, 100)) + ',' + at + '}'},
      {"claims.submit", {{"id", claim}}, R"({"tx_hash":"0xab"})"},
      {"claims.confirm", {{"id", claim}}, "{}"},
      {"claims.fail", {{"id", id_of(6, 104)}}, R"({"error_message":"no"})"},
      {"webhooks.create", {}, R"({"url":"https://hooks.example.com"})"},
      {"webhooks.list", {}, ""},
      {"webhooks.get", {{"id", id_of_webhook}}, ""},
      {"webhooks.secret", {{"id", id_of_webhook}}, ""},
      {"webhooks.update", {{"id", id_of_webhook}}, R"({"description":"new"})"},
      {"webhooks.rotate", {{"id", id_of_webhook}}, "{}"},
      {"webhooks.test", {{"id", id_of_webhook}}, "{}"},
      {"webhooks.deliveries", {{"id", id_of_webhook}}, ""},
      {"webhooks.replay", {{"id", id_of_webhook}}, R"({"since":"2026-03-01T00:00:00Z"})"},
      {"webhooks.delete", {{"id", id_of_webhook}}, "{}"},
      {"changes.list", {{"limit", "1"}}, ""},
      {"journal.list", {{"id", claim}}, ""},
      {"journal.list", {{"limit", "1"}}, ""},
      {"journal.prove", {{"sequence", "1"}}, ""},
  };
}

TEST_CASE("the cost of an operation on one record does not depend on the size of the store") {
  StatementRecorder recorder;
  Store small(few_rows, 1);
  Store large(many_rows, 1);
  check_cases(recorder, operations_on_one_record(), small, large);
}

TEST_CASE("the test above has every operation that is not a list") {
  std::set<std::string_view> held;
  const std::vector<Case> cases = operations_on_one_record();
  for (const Case& one : cases) held.insert(one.operation);
  for (const service::Operation& operation : service::operations()) {
    CAPTURE(operation.name);
    CHECK(held.contains(operation.name) == !operation.is_list);
  }
}

// An identity whose last control is active and whose other controls are deleted. They were created
// at one time, or one a second.
struct History : ServiceFixture {
  History(int count, std::int64_t seconds_apart) {
    store_records(*this, std::vector{Store::identity(0, "acme", start)});
    std::vector<Control> controls;
    for (int i = 0; i < count; ++i) {
      Control& control = controls.emplace_back();
      control.id = {id_of(2, count - 1 - i)};
      control.identity_id = {id_of(1, 0)};
      customer_of(control) = "acme";
      control.type = ControlType::closed;
      control.set_by = SetBy::client;
      control.reason_code = Word{"REQUEST"};
      control.created_at = Timestamp{start.microseconds + i * seconds_apart * 1'000'000};
      if (i < count - 1) control.deleted_at = Timestamp{control.created_at.microseconds + 1};
    }
    store_records(*this, controls);
    now.microseconds += 100'000LL * 1'000'000;
  }
};

TEST_CASE("the cost of an operation on an identity does not depend on its number of controls") {
  StatementRecorder recorder;
  const std::string identity = id_of(1, 0);
  const std::vector<Case> cases{
      {"identities.get", {{"id", identity}}, ""},
      {"identities.permits", {{"id", identity}, {"action", "SELL"}}, ""},
      {"identities.permits", {{"id", identity}, {"action", "SELL"}, {"at", to_string(start)}}, ""},
      {"controls.create", {}, new_control(identity)},
      {"controls.delete", {}, '{' + member("control_id", id_of(2, 0)) + '}'},
      {"identities.update", {{"id", identity}}, R"({"admin_disabled":true})"},
  };
  for (const std::int64_t seconds_apart : {0, 1}) {
    CAPTURE(seconds_apart);
    History small(few_rows, seconds_apart);
    History large(many_rows, seconds_apart);
    check_cases(recorder, cases, small, large);
  }
}

}  // namespace
}  // namespace comptroller::store
