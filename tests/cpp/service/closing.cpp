#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/describe.hpp"
#include "service/maintenance.hpp"
#include "service/scans.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

TEST_CASE("a closed service refuses every call, and can be closed twice") {
  ServiceFixture fixture;
  fixture.put_identity("i1", "acme");
  CHECK_NOTHROW(fixture.service.check_usable());
  fixture.service.close();
  fixture.service.close();
  CHECK(fixture.code(fixture.acme, "identities.list") == "closed");
  CHECK(fixture.code(fixture.provider, "identities.put", {}, R"({"id":"i2"})") == "closed");
  CHECK(refusal_of([&] { check(fixture.service, fixture.provider); }).code == "closed");
  CHECK(refusal_of([&] {
          scan(fixture.service, fixture.acme, "claims", {}, Purpose::exporting);
        }).code == "closed");
}

TEST_CASE("a forked child is refused, and its parent continues") {
  ServiceFixture fixture;
  fixture.put_identity("i1", "acme");
  const pid_t child = ::fork();
  if (child == 0) {
    bool is_refused = fixture.service.is_forked();
    for (const char* operation : {"identities.list", "identities.put"}) {
      is_refused = is_refused && fixture.code(fixture.provider, operation, {}, "") == "closed";
    }
    ::_exit(is_refused ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(fixture.service.is_forked());
  fixture.put_identity("i2", "acme");
  CHECK(fixture.count(fixture.acme, "identities.list") == 2);
}

TEST_CASE("a check of a sound store has no findings, and counts rows") {
  ServiceFixture fixture;
  fixture.put_identity("i1", "acme");
  fixture.create_control(fixture.acme, "i1", "CLOSED");
  const Json report(check(fixture.service, fixture.provider));
  CHECK(report.at("/ok") == "true");
  CHECK(report.at("/findings") == "[]");
  CHECK(report.at("/rows/identities") == "1");
  CHECK(report.at("/rows/controls") == "1");
  CHECK(report.at("/rows/claims") == "0");
  CHECK(report.at("/engine").starts_with(db::tests_use_sqlite() ? "SQLite 3." : "PostgreSQL "));
}

TEST_CASE("only the operator may check or copy the whole store") {
  ServiceFixture fixture;
  const auto refused = [&](const Principal& principal) {
    CHECK(refusal_of([&] { check(fixture.service, principal); }).code == "insufficient-scope");
    CHECK(refusal_of([&] { backup(fixture.service, principal, "/nowhere/copy.db"); }).code ==
          "insufficient-scope");
  };
  refused(fixture.acme);
  refused(make_principal({}, {}, {{"operator:write"}}));
  CHECK(refusal_of([&] { backup(fixture.service, fixture.provider, "/nowhere/copy.db"); }).code ==
        (db::tests_use_sqlite() ? "unusable" : "unsupported"));
}

TEST_CASE("a check finds a row that violates an invariant") {
  ServiceFixture fixture;
  fixture.put_identity("i1", "acme");
  const std::string id = fixture.create_control(fixture.acme, "i1", "CLOSED");
  fixture.service.database()->write([](db::Connection& connection) {
    connection.execute("UPDATE controls SET identity_created_at = 0, created_by = ''");
  });
  const Json report(check(fixture.service, fixture.provider));
  CHECK(report.at("/ok") == "false");
  CHECK(report.size("/findings") == 3);  // the journal finds the changed member, too
}

TEST_CASE("the description has all parts of the service") {
  const Json description(describe());
  CHECK(description.size("/operations") == 43);
  CHECK(description.size("/problems") == problems.size());
  CHECK(description.at("/enums/SetBy/PROVIDER") == "the operator of the service");
  CHECK(description.has("/records/Claim/members/onchain_status"));
}

TEST_CASE("only lists can be scanned") {
  ServiceFixture fixture;
  CHECK(refusal_of([&] {
          scan(fixture.service, fixture.acme, "claim", {}, Purpose::exporting);
        }).detail.find("claims") != std::string::npos);
  CHECK(refusal_of([&] {
          scan(fixture.service, fixture.acme, "balances", {}, Purpose::exporting);
        }).code == "insufficient-scope");
  const Parameters paged{{"limit", "1"}};
  CHECK(refusal_of([&] {
          scan(fixture.service, fixture.acme, "claims", paged, Purpose::exporting);
        }).field == "limit");
}

}  // namespace
}  // namespace comptroller::service
