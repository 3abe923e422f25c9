#include <doctest/doctest.h>

#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

struct Identities : ServiceFixture {
  Identities() { put_identity("i1", "acme"); }
  Json update(const Principal& principal, const std::string& body) {
    return call(principal, "identities.update", {{"id", "i1"}}, body);
  }
  std::string update_code(const Principal& principal, const std::string& body) {
    return code(principal, "identities.update", {{"id", "i1"}}, body);
  }
  Json get(const Principal& principal = {}) {
    return call(principal.customer ? principal : acme, "identities.get", {{"id", "i1"}});
  }
  bool permits(const std::string& action, std::optional<Timestamp> at = {}) {
    Parameters parameters{{"id", "i1"}, {"action", action}};
    if (at) parameters.push_back({"at", to_string(*at)});
    return call(acme, "identities.permits", parameters).at("/permitted") == "true";
  }
};

TEST_CASE_FIXTURE(Identities, "a new identity is APPROVED and may do everything") {
  const Json shown = get();
  CHECK(shown.at("/customer_id") == "acme");
  CHECK(shown.at("/status") == "APPROVED");
  CHECK(shown.at("/status_details/active_controls") == "[]");
  CHECK(shown.at("/status_details/permitted_actions") == R"(["BUY","SELL","DEPOSIT","WITHDRAW"])");
  CHECK(shown.at("/user_disabled") == "false");
  CHECK(shown.at("/admin_disabled") == "false");
  CHECK(shown.at("/created_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(shown.at("/updated_at") == shown.at("/created_at"));
  CHECK(shown.at("/ref_id") == "(none)");
  CHECK(shown.at("/metadata") == "(none)");
}

TEST_CASE_FIXTURE(
    Identities, "a control restricts, and the deletion of the last control lifts the restriction") {
  const std::string own = create_control(acme, "i1", "SELL_ONLY");
  CHECK(get().at("/status") == "DISABLED");
  CHECK(get().at("/user_disabled") == "true");
  CHECK(get().at("/status_details/permitted_actions") == R"(["SELL"])");
  CHECK(get().at("/status_details/active_controls/0/id") == own);
  const std::string frozen = create_control(provider, "i1", "FROZEN");
  CHECK(get().at("/status") == "ERROR");
  CHECK(get().at("/status_details/permitted_actions") == "[]");
  call(acme, "controls.delete", {{"control_id", own}});
  CHECK(get().at("/status") == "ERROR");
  CHECK(code(acme, "controls.delete", {{"control_id", frozen}}) == "control-not-overridable");
  call(provider, "controls.delete", {{"control_id", frozen}});
  CHECK(get().at("/status") == "APPROVED");
}

TEST_CASE_FIXTURE(Identities, "a control records its creator, its deleter and the times") {
  const std::string id = create_control(acme, "i1", "CLOSED");
  now.microseconds += one_hour_us;
  const Json deleted =
      call(provider, "controls.delete", {{"control_id", id}, {"reason", "appeal"}});
  CHECK(deleted.at("/created_by") == "acme-app");
  CHECK(deleted.at("/created_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(deleted.at("/deleted_by") == "operator");
  CHECK(deleted.at("/deleted_at") == "2026-03-01T13:00:00.000000Z");
  CHECK(deleted.at("/deletion_reason") == "appeal");
  CHECK(code(provider, "controls.delete", {{"control_id", id}}) == "already-deleted");
  CHECK(create_control(acme, "i1", "CLOSED") != id);
}

TEST_CASE_FIXTURE(Identities, "permitted actions are known for every past time") {
  now = start;
  const std::string id = create_control(acme, "i1", "SELL_ONLY");
  now.microseconds += one_hour_us;
  call(acme, "controls.delete", {{"control_id", id}});
  const Timestamp before{start.microseconds - 1};
  const Timestamp last{now.microseconds - 1};
  CHECK(permits("BUY", before));
  CHECK_FALSE(permits("BUY", start));
  CHECK(permits("SELL", start));
  CHECK_FALSE(permits("BUY", last));
  CHECK(permits("BUY", now));
  CHECK(permits("BUY"));
  CHECK(code(acme, "identities.permits", {{"id", "i1"}, {"action", "STEAL"}}) == "invalid-request");
}

TEST_CASE_FIXTURE(Identities, "the deprecated booleans and their controls always agree") {
  CHECK(update(acme, R"({"user_disabled":true})").at("/user_disabled") == "true");
  const Json controls = call(acme, "controls.list");
  CHECK(controls.at("/items/0/type") == "SELL_ONLY");
  CHECK(controls.at("/items/0/set_by") == "CLIENT");
  CHECK(controls.at("/items/0/is_overridable") == "true");
  CHECK(controls.at("/items/0/reason_code") == "LEGACY_USER_DISABLED");
  call(acme, "controls.delete", {{"control_id", controls.at("/items/0/id")}});
  CHECK(get().at("/user_disabled") == "false");
  create_control(acme, "i1", "SELL_ONLY");
  CHECK(get().at("/user_disabled") == "true");
  CHECK(update(acme, R"({"user_disabled":false})").at("/status") == "APPROVED");
  CHECK(count(acme, "controls.list") == 0);
  CHECK(count(acme, "controls.list", {{"include_deleted", "true"}}) == 2);
}

TEST_CASE_FIXTURE(Identities, "only the operator can change admin_disabled") {
  CHECK(update_code(acme, R"({"admin_disabled":true})") == "control-not-overridable");
  CHECK(update_code(acme, R"({"admin_disabled":false})") == "control-not-overridable");
  CHECK(update(provider, R"({"admin_disabled":true})").at("/admin_disabled") == "true");
  CHECK(get().at("/status_details/active_controls/0/set_by") == "PROVIDER");
  CHECK(get().at("/status_details/active_controls/0/is_overridable") == "false");
  CHECK(get().at("/status_details/active_controls/0/reason_code") == "LEGACY_ADMIN_DISABLED");
  CHECK(update(provider, R"({"admin_disabled":false})").at("/status") == "APPROVED");
}

TEST_CASE_FIXTURE(Identities, "a refused boolean undoes the whole update") {
  CHECK(code(provider, "controls.create", {},
             R"({"identity_id":"i1","type":"SELL_ONLY","reason_code":"X","is_overridable":true})")
            .empty());
  CHECK(update_code(provider,
                    R"({"user_disabled":true,"admin_disabled":true,"metadata":{"k":"v"}})") ==
        "already-exists");
  CHECK(get().at("/user_disabled") == "false");
  CHECK(get().at("/metadata") == "(none)");
}

TEST_CASE_FIXTURE(
    Identities,
    "an update sets the given members and updated_at; without members it changes nothing") {
  now.microseconds += one_hour_us;
  CHECK(update(acme, "{}").at("/updated_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(update(acme, R"({"user_disabled":false})").at("/updated_at") ==
        "2026-03-01T12:00:00.000000Z");
  const Json updated = update(acme, R"({"metadata":{"k":"v"}})");
  CHECK(updated.at("/updated_at") == "2026-03-01T13:00:00.000000Z");
  CHECK(updated.at("/metadata") == R"({"k":"v"})");
  CHECK(update(acme, R"({"metadata":{}})").at("/metadata") == "{}");
  CHECK(update_code(acme, R"({"ref_id":"r"})") == "invalid-request");
}

TEST_CASE_FIXTURE(Identities,
                  "the operator creates an identity with put, or sets the given members") {
  const auto put = [&](const std::string& body) {
    return call(provider, "identities.put", {}, body);
  };
  CHECK(put(R"({"id":"i2"})").at("/customer_id") == "default");
  now.microseconds += one_hour_us;
  const Json set = put(R"({"id":"i1","ref_id":"r","user_disabled":true,"admin_disabled":true})");
  CHECK(set.at("/customer_id") == "acme");
  CHECK(set.at("/ref_id") == "r");
  CHECK(set.at("/created_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(set.at("/updated_at") == "2026-03-01T13:00:00.000000Z");
  CHECK(set.size("/status_details/active_controls") == 2);
  const Json kept = put(R"({"id":"i1","customer_id":"acme","metadata":{"k":"v"}})");
  CHECK(kept.at("/ref_id") == "r");
  CHECK(kept.at("/user_disabled") == "true");
  CHECK(put(R"({"id":"i1","user_disabled":false})").at("/user_disabled") == "false");
  CHECK(code(provider, "identities.put", {}, R"({"id":"i1","customer_id":"zenith"})") ==
        "already-exists");
  CHECK(code(acme, "identities.put", {}, R"({"id":"i3"})") == "insufficient-scope");
}

TEST_CASE_FIXTURE(Identities, "only one control of a type and setter can be active") {
  const std::string own = create_control(acme, "i1", "CLOSED");
  create_control(provider, "i1", "CLOSED");
  const Refusal again =
      refused(acme, "controls.create", {},
              body_of({{"identity_id", "i1"}, {"type", "CLOSED"}, {"reason_code", "X"}}));
  CHECK(again.code == "already-exists");
  CHECK(again.existing == own);
  CHECK(get().size("/status_details/active_controls") == 2);
}

}  // namespace
}  // namespace comptroller::service
