// How the dispatcher reads a request: names, paths, parameters, bodies.
#include <doctest/doctest.h>

#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

constexpr const char* unknown_uuid = "00000000-0000-7000-8000-ffffffffffff";

struct Dispatcher : ServiceFixture {
  Dispatcher() { put_identity("i1", "acme"); }
};

TEST_CASE_FIXTURE(Dispatcher, "an unknown operation is not found") {
  for (const char* name : {"", "controls", "controls.", "controls.List", "controls.list "}) {
    CHECK(code(acme, name) == "not-found");
  }
}

TEST_CASE_FIXTURE(Dispatcher,
                  "a read with a body and a write with an unknown parameter are refused") {
  CHECK(code(acme, "controls.list", {}, "{}") == "invalid-request");
  CHECK(code(acme, "identities.get", {{"id", "i1"}}, "{}") == "invalid-request");
  const Refusal refusal = refused(acme, "controls.create", {{"identity_id", "i1"}},
                                  body_of({{"type", "CLOSED"}, {"reason_code", "X"}}));
  CHECK(refusal.code == "invalid-request");
  CHECK(refusal.field == "identity_id");
  CHECK(refused(acme, "identities.update", {{"id", "i1"}, {"user_disabled", "true"}}, "{}").field ==
        "user_disabled");
}

TEST_CASE_FIXTURE(Dispatcher, "a malformed id is not found in a path, invalid in other places") {
  for (const char* id : {"", "a b", "\xc3\xa9"}) {
    CAPTURE(id);
    for (const char* operation : {"identities.get", "controls.get", "orchestrations.get",
                                  "payout_groups.get", "reward_addresses.get", "claims.get"}) {
      CHECK(code(acme, operation, {{"id", id}}) == "not-found");
    }
    for (const char* operation : {"identities.update", "payout_groups.update"}) {
      CHECK(code(acme, operation, {{"id", id}}, "{}") == "not-found");
    }
    CHECK(code(acme, "identities.permits", {{"id", id}, {"action", "SELL"}}) == "not-found");
    CHECK(refused(acme, "controls.delete", {{"control_id", id}}).code == "invalid-request");
    CHECK(refused(acme, "controls.delete", {{"id", id}}).code == "invalid-request");
    CHECK(code(acme, "claims.list", {{"id", id}}) == "invalid-request");
  }
  CHECK(code(acme, "payout_groups.get", {{"id", "no-uuid"}}) == "not-found");
  CHECK(code(acme, "payout_groups.list", {{"id", "no-uuid"}}) == "invalid-request");
  CHECK(code(acme, "reward_addresses.list", {{"payout_group_id", "no-uuid"}}) == "invalid-request");
}

TEST_CASE_FIXTURE(Dispatcher, "a UUID is accepted in any case in every place") {
  const std::string group = create_group(acme);
  std::string upper = group;
  for (char& c : upper) c = c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
  CHECK(call(acme, "payout_groups.get", {{"id", upper}}).at("/id") == group);
  CHECK(count(acme, "payout_groups.list", {{"id", upper}}) == 1);
  put_identity("ABCDEF00-0000-7000-8000-00000000000A", "acme");
  CHECK(call(acme, "identities.get", {{"id", "abcdef00-0000-7000-8000-00000000000A"}}).at("/id") ==
        "abcdef00-0000-7000-8000-00000000000a");
}

TEST_CASE_FIXTURE(Dispatcher,
                  "an id in a body replaces the path only for operations that allow it") {
  CHECK(refused(acme, "identities.update", {{"id", "i1"}}, R"({"id":"i1"})").field == "id");
  CHECK(refused(acme, "identities.update", {}, R"({"id":"i1"})").code == "invalid-request");
  CHECK(refused(acme, "identities.update", {}, "{}").field == "id");
}

TEST_CASE_FIXTURE(Dispatcher, "the id in the body of an address must be equal to the path") {
  const std::string id = call(acme, "reward_addresses.create", {},
                              body_of({{"ledger", "ETHEREUM"},
                                       {"address", "0x0000000000000000000000000000000000000009"}}))
                             .at("/id");
  const auto update = [&](const std::string& body) {
    return refused(acme, "reward_addresses.update", {{"id", id}}, body);
  };
  CHECK(update(R"({"name":"A"})").code.empty());
  CHECK(update(R"({"address":{"name":"B"}})").code.empty());
  CHECK(update(R"({"address":{"id":")" + id + R"(","name":"C"}})").code.empty());
  CHECK(update(R"({"id":")" + id + R"(","name":"D"})").code.empty());
  CHECK(call(acme, "reward_addresses.get", {{"id", id}}).at("/name") == "D");
  const Refusal differs = update(R"({"address":{"id":")" + std::string(unknown_uuid) + "\"}}");
  CHECK(differs.code == "id-mismatch");
  CHECK(differs.field == "address.id");
  CHECK(update(R"({"id":")" + std::string(unknown_uuid) + "\"}").code == "id-mismatch");
  // The ids are compared before the address is looked up.
  CHECK(code(acme, "reward_addresses.update", {{"id", unknown_uuid}},
             R"({"address":{"id":")" + id + "\"}}") == "id-mismatch");
}

TEST_CASE_FIXTURE(Dispatcher, "only addresses have an envelope") {
  const std::string control =
      body_of({{"identity_id", "i1"}, {"type", "CLOSED"}, {"reason_code", "X"}});
  CHECK(refused(acme, "controls.create", {}, R"({"address":)" + control + "}").code ==
        "invalid-request");
  CHECK(code(acme, "identities.update", {{"id", "i1"}}, R"({"address":{"user_disabled":true}})") ==
        "invalid-request");
  CHECK(code(provider, "identities.put", {}, R"({"address":{"id":"i9"}})") == "invalid-request");
  const std::string address = R"({"ledger":"ETHEREUM",)"
                              R"("address":"0x0000000000000000000000000000000000000009"})";
  CHECK(code(acme, "reward_addresses.create", {}, R"({"address":)" + address + R"(,"name":"A"})") ==
        "invalid-request");
  CHECK(
      refused(acme, "reward_addresses.create", {}, R"({"address":{"ledger":"ETHEREUM"}})").field ==
      "address.address");
  CHECK(code(acme, "reward_addresses.create", {}, R"({"address":)" + address + "}").empty());
}

TEST_CASE_FIXTURE(Dispatcher,
                  "a deletion may be named in the query or the body, which must be equal") {
  const auto fresh = [&] { return create_control(acme, "i1", "CLOSED"); };
  CHECK(code(acme, "controls.delete", {{"control_id", fresh()}}).empty());
  CHECK(code(acme, "controls.delete", {{"id", fresh()}}).empty());
  CHECK(code(acme, "controls.delete", {}, body_of({{"control_id", fresh()}})).empty());
  CHECK(code(acme, "controls.delete", {}, body_of({{"id", fresh()}})).empty());
  std::string id = fresh();
  CHECK(code(acme, "controls.delete", {{"control_id", id}, {"identity_id", "i1"}},
             body_of({{"id", id}, {"identity_id", "i1"}, {"reason", "over"}}))
            .empty());
  CHECK(call(acme, "controls.get", {{"id", id}}).at("/deletion_reason") == "over");

  id = fresh();
  const std::string other = create_control(acme, "i1", "DORMANT");
  const auto refused_code = [&](const Parameters& query, const std::string& body) {
    return code(acme, "controls.delete", query, body);
  };
  CHECK(refused_code({{"control_id", id}}, body_of({{"control_id", other}})) == "invalid-request");
  CHECK(refused_code({{"id", id}}, body_of({{"id", other}})) == "invalid-request");
  CHECK(refused_code({{"control_id", id}, {"id", other}}, "") == "invalid-request");
  CHECK(refused_code({{"control_id", id}}, body_of({{"id", other}})) == "invalid-request");
  CHECK(refused_code({{"id", id}, {"reason", "a"}}, body_of({{"reason", "b"}})) ==
        "invalid-request");
  CHECK(refused_code({}, "") == "invalid-request");
  CHECK(refused_code({}, "{}") == "invalid-request");
  CHECK(refused_code({{"reason", "over"}}, "") == "invalid-request");
  put_identity("i2", "acme");
  CHECK(refused_code({{"id", id}, {"identity_id", "i2"}}, "") == "not-found");
  CHECK(refused_code({{"id", id}, {"identity_id", "nobody"}}, "") == "not-found");
  CHECK(call(acme, "controls.get", {{"id", id}}).at("/deleted_at") == "null");
}

TEST_CASE_FIXTURE(
    Dispatcher, "invalid bodies are refused with the errors of the reader, and nothing is stored") {
  const auto create = [&](const std::string& body) {
    return refused(acme, "controls.create", {}, body);
  };
  CHECK(create("").code == "invalid-request");  // an empty body is an empty object
  CHECK(create("{").code == "malformed-json");
  CHECK(create("[]").code == "invalid-request");
  CHECK(create(std::string(std::size_t{1} << 20U, ' ') + "{}").code == "content-too-large");
  CHECK(create(R"({"identity_id":"i1","type":"CLOSED","reason_code":"X","set_by":"PROVIDER"})")
            .field == "set_by");
  CHECK(create(R"({"identity_id":"i1","type":"CLOSED","reason_code":"X","id":"mine"})").field ==
        "id");
  CHECK(create(R"({"identity_id":"i1","type":"CLOSED","reason_code":"X","created_at":)"
               R"("2026-01-01T00:00:00Z"})")
            .field == "created_at");
  CHECK(create(R"({"identity_id":"i1","type":"CLOSED"})").field == "reason_code");
  CHECK(count(acme, "controls.list", {{"include_deleted", "true"}}) == 0);
}

TEST_CASE_FIXTURE(Dispatcher, "requests are checked in order: scope, request, existence, rule") {
  Principal nobody = acme;
  nobody.scopes.clear();
  CHECK(code(nobody, "controls.create", {}, "{") == "insufficient-scope");
  CHECK(code(acme, "controls.create", {},
             body_of({{"identity_id", "nobody"}, {"type", "PAUSED"}, {"reason_code", "X"}})) ==
        "invalid-request");
  CHECK(code(acme, "controls.create", {},
             body_of({{"identity_id", "nobody"}, {"type", "FROZEN"}, {"reason_code", "X"}})) ==
        "not-found");
  CHECK(code(acme, "controls.create", {},
             body_of({{"identity_id", "i1"}, {"type", "FROZEN"}, {"reason_code", "X"}})) ==
        "control-type-not-permitted");
}

}  // namespace
}  // namespace comptroller::service
