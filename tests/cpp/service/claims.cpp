// Claims: creation, transitions, and their effect on the payout group (specification 4.5).
#include <doctest/doctest.h>

#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

struct Claims : ServiceFixture {
  std::string group = create_group(acme);

  std::string put_code(const std::string& id, const std::string& status,
                       const std::string& more = "", const std::string& customer = "acme") {
    return code(provider, "claims.put", {}, line(id, status, more, customer));
  }
  std::string line(const std::string& id, const std::string& status, const std::string& more = "",
                   const std::string& customer = "acme") const {
    return R"({"id":")" + id + R"(","payout_group_id":")" + group +
           R"(","claim_type":"CLAIM_ALL","amount":"1.50","created_at":"2026-01-01T00:00:00Z",)" +
           R"("onchain_status":")" + status + R"(","customer_id":")" + customer + "\"" + more + "}";
  }
  std::string last_claim_all() {
    return call(acme, "payout_groups.get", {{"id", group}}).at("/last_claim_all_at");
  }
  bool is_sound() { return check(service, provider).find("\"findings\":[]") != std::string::npos; }
};

TEST_CASE_FIXTURE(Claims, "a claim reaches its final status and then cannot change") {
  CHECK(put_code("c", "PENDING").empty());
  CHECK(code(provider, "claims.confirm", {{"id", "c"}}, "{}") == "illegal-transition");
  CHECK(code(provider, "claims.submit", {{"id", "c"}}, "{}") == "invalid-request");
  const Json submitted = call(provider, "claims.submit", {{"id", "c"}}, R"({"tx_hash":"0xabc"})");
  CHECK(submitted.at("/onchain_status") == "SUBMITTED");
  CHECK(submitted.at("/tx_hash") == "0xabc");
  CHECK(submitted.at("/submitted_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(submitted.at("/updated_at") == "2026-03-01T12:00:00.000000Z");
  CHECK(last_claim_all() == "(none)");
  const Json confirmed =
      call(provider, "claims.confirm", {{"id", "c"}}, R"({"at":"2026-02-01T00:00:00Z"})");
  CHECK(confirmed.at("/onchain_status") == "CONFIRMED");
  CHECK(confirmed.at("/confirmed_at") == "2026-02-01T00:00:00.000000Z");
  CHECK(confirmed.at("/amount") == "1.50");
  CHECK(last_claim_all() == "2026-02-01T00:00:00.000000Z");
  CHECK(code(provider, "claims.fail", {{"id", "c"}}, R"({"error_message":"x"})") ==
        "illegal-transition");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Claims, "a claim may fail before and after it was submitted, with a message") {
  put_code("a", "PENDING");
  put_code("b", "SUBMITTED");
  for (const char* id : {"a", "b"}) {
    CHECK(code(provider, "claims.fail", {{"id", id}}, "{}") == "invalid-request");
    CHECK(call(provider, "claims.fail", {{"id", id}}, R"({"error_message":"out of gas"})")
              .at("/error_message") == "out of gas");
    CHECK(code(provider, "claims.submit", {{"id", id}}, R"({"tx_hash":"h"})") ==
          "illegal-transition");
  }
  CHECK(code(acme, "claims.fail", {{"id", "a"}}, R"({"error_message":"x"})") ==
        "insufficient-scope");
  CHECK(code(provider, "claims.fail", {{"id", "none"}}, R"({"error_message":"x"})") == "not-found");
}

TEST_CASE_FIXTURE(Claims, "an observation cannot precede the confirmed claims") {
  const auto observe = [&](const std::string& at) {
    return call(provider, "payout_groups.observe", {{"id", group}},
                R"({"last_claim_all_at":")" + at + "\"}")
        .at("/last_claim_all_at")
        .substr(0, 10);
  };
  const auto confirmed = [](const std::string& at, const std::string& updated_at) {
    return R"(,"confirmed_at":")" + at + R"(","updated_at":")" + updated_at + '"';
  };
  put_code("a", "CONFIRMED", confirmed("2026-01-10T00:00:00Z", "2026-01-10T00:00:00Z"));
  put_code("b", "CONFIRMED", confirmed("2026-01-05T00:00:00Z", "2026-01-05T00:00:00Z"));
  CHECK(observe("2026-01-07T00:00:00Z") == "2026-01-10");
  // After a correction of the latest claim, the next one counts.
  put_code("a", "CONFIRMED", confirmed("2026-01-03T00:00:00Z", "2026-01-11T00:00:00Z"));
  CHECK(last_claim_all().substr(0, 10) == "2026-01-10");
  CHECK(is_sound());
  CHECK(observe("2026-01-04T00:00:00Z") == "2026-01-05");
  CHECK(observe("2026-01-07T00:00:00Z") == "2026-01-07");
  // A load attributes a claim to another group.
  const std::string first = std::exchange(group, create_group(acme));
  put_code("b", "CONFIRMED", confirmed("2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z"));
  CHECK(last_claim_all().substr(0, 10) == "2026-01-05");
  group = first;
  CHECK(observe("2026-01-02T00:00:00Z") == "2026-01-03");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Claims, "a claim that is put again changes only to a later status") {
  CHECK(put_code("c", "SUBMITTED").empty());
  CHECK(put_code("c", "SUBMITTED").empty());
  CHECK(put_code("c", "PENDING", R"(,"updated_at":"2026-01-02T00:00:00Z")") ==
        "illegal-transition");
  CHECK(put_code("c", "CONFIRMED") == "already-exists");
  CHECK(put_code("c", "CONFIRMED", R"(,"updated_at":"2026-01-02T00:00:00Z")").empty());
  CHECK(put_code("c", "CONFIRMED", "", "zenith") == "already-exists");
  CHECK(count(acme, "claims.list") == 1);
}

TEST_CASE_FIXTURE(Claims, "the latest CLAIM_ALL counts for the group, in any order of arrival") {
  const auto confirmed = [&](const std::string& id, const std::string& at) {
    CHECK(put_code(id, "CONFIRMED", R"(,"confirmed_at":")" + at + "\"").empty());
  };
  confirmed("b", "2026-02-02T00:00:00Z");
  confirmed("a", "2026-02-01T00:00:00Z");
  CHECK(last_claim_all() == "2026-02-02T00:00:00.000000Z");
  CHECK(call(acme, "payout_groups.get", {{"id", group}}).at("/updated_at") ==
        "2026-03-01T12:00:00.000000Z");
  confirmed("d", "2026-02-03T00:00:00Z");
  CHECK(last_claim_all() == "2026-02-03T00:00:00.000000Z");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Claims, "an observation never undoes a confirmation by a claim") {
  put_code("b", "CONFIRMED", R"(,"confirmed_at":"2026-02-02T00:00:00Z")");
  call(provider, "payout_groups.observe", {{"id", group}},
       R"({"last_claim_all_at":"2026-01-01T00:00:00Z"})");
  CHECK(last_claim_all() == "2026-02-02T00:00:00.000000Z");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Claims, "the jurisdiction of a claim is the current jurisdiction of its group") {
  put_code("c", "PENDING");
  const auto listed = [&](const std::string& jurisdiction) {
    return count(acme, "claims.list", {{"jurisdiction", jurisdiction}});
  };
  CHECK(listed("DE") == 1);
  call(acme, "payout_groups.update", {{"id", group}}, R"({"jurisdiction":"FR"})");
  CHECK(listed("DE") == 0);
  CHECK(listed("FR") == 1);
  group = "00000000-0000-7000-8000-00000000abcd";
  put_code("d", "PENDING");
  CHECK(listed("FR") == 1);
  CHECK(count(acme, "claims.list") == 2);
}

TEST_CASE_FIXTURE(Claims, "a claim and its group have the same customer") {
  CHECK(put_code("c", "PENDING", "", "zenith") == "already-exists");
  CHECK(count(zenith, "claims.list") == 0);
}

TEST_CASE_FIXTURE(Claims,
                  "an orchestration that is put again changes only with a later updated_at") {
  const auto put = [&](const std::string& status, const std::string& updated_at) {
    return code(provider, "orchestrations.put", {},
                R"({"id":"o","customer_id":"acme","created_at":"2026-01-01T00:00:00Z","status":")" +
                    status + R"(","updated_at":")" + updated_at + "\"}");
  };
  CHECK(put("PROCESSING", "2026-01-02T00:00:00Z").empty());
  CHECK(put("PROCESSING", "2026-01-02T00:00:00+00:00").empty());
  CHECK(put("COMPLETED", "2026-01-02T00:00:00Z") == "already-exists");
  CHECK(put("COMPLETED", "2026-01-01T00:00:00Z") == "already-exists");
  CHECK(put("COMPLETED", "2026-01-03T00:00:00Z").empty());
  CHECK(call(acme, "orchestrations.get", {{"id", "o"}}).at("/status") == "COMPLETED");
}

}  // namespace
}  // namespace comptroller::service
