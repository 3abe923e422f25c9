#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "service/describe.hpp"
#include "service/maintenance.hpp"
#include "service/scans.hpp"
#include "service/world.hpp"

namespace comptroller::service {
namespace {

TEST_CASE("a closed service refuses every call, and may be closed twice") {
  World world;
  world.put_identity("i1", "acme");
  CHECK_NOTHROW(world.service.check_usable());
  world.service.close();
  world.service.close();
  CHECK(world.code(world.acme, "identities.list") == "closed");
  CHECK(world.code(world.provider, "identities.put", {}, R"({"id":"i2"})") == "closed");
  CHECK(refusal_of([&] { check(world.service, world.provider); }).code == "closed");
  CHECK(refusal_of([&] { scan(world.service, world.acme, "claims", {}, Purpose::reload); }).code ==
        "closed");
}

TEST_CASE("a forked child is refused and its parent goes on") {
  World world;
  world.put_identity("i1", "acme");
  const pid_t child = ::fork();
  if (child == 0) {
    bool is_refused = world.service.is_forked();
    for (const char* operation : {"identities.list", "identities.put"}) {
      is_refused = is_refused && world.code(world.provider, operation, {}, "") == "closed";
    }
    ::_exit(is_refused ? 0 : 1);
  }
  REQUIRE(child > 0);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status));
  CHECK(WEXITSTATUS(status) == 0);
  CHECK_FALSE(world.service.is_forked());
  world.put_identity("i2", "acme");
  CHECK(world.count(world.acme, "identities.list") == 2);
}

TEST_CASE("a sound store is found sound, its rows counted") {
  World world;
  world.put_identity("i1", "acme");
  world.create_control(world.acme, "i1", "CLOSED");
  const Json report(check(world.service, world.provider));
  CHECK(report.at("/ok") == "true");
  CHECK(report.at("/findings") == "[]");
  CHECK(report.at("/rows/identities") == "1");
  CHECK(report.at("/rows/controls") == "1");
  CHECK(report.at("/rows/claims") == "0");
  CHECK(report.at("/engine").starts_with("SQLite 3."));
}

TEST_CASE("only the operator may look into the whole store or copy it") {
  World world;
  const auto refused = [&](const Principal& who) {
    CHECK(refusal_of([&] { check(world.service, who); }).code == "insufficient-scope");
    CHECK(refusal_of([&] { backup(world.service, who, "/nowhere/copy.db"); }).code ==
          "insufficient-scope");
  };
  refused(world.acme);
  refused(make_principal({}, {}, {{"operator:write"}}));
  CHECK(refusal_of([&] { backup(world.service, world.provider, "/nowhere/copy.db"); }).code ==
        "unusable");
}

TEST_CASE("a row that breaks a promise is found") {
  World world;
  world.put_identity("i1", "acme");
  const std::string id = world.create_control(world.acme, "i1", "CLOSED");
  world.service.database()->write([](db::Connection& connection) {
    connection.execute("UPDATE controls SET identity_created_at = 0, created_by = ''");
  });
  const Json report(check(world.service, world.provider));
  CHECK(report.at("/ok") == "false");
  CHECK(report.size("/findings") == 2);
}

TEST_CASE("the service describes all it is made of") {
  const Json description(describe());
  CHECK(description.size("/operations") == 30);
  CHECK(description.size("/problems") == problems.size());
  CHECK(description.at("/enums/SetBy/PROVIDER") == "the operator of the service");
  CHECK(description.has("/records/Claim/members/onchain_status"));
}

TEST_CASE("only lists can be scanned") {
  World world;
  CHECK(refusal_of([&] {
          scan(world.service, world.acme, "claim", {}, Purpose::reload);
        }).detail.find("claims") != std::string::npos);
  CHECK(refusal_of([&] {
          scan(world.service, world.acme, "balances", {}, Purpose::reload);
        }).code == "insufficient-scope");
  const Parameters paged{{"limit", "1"}};
  CHECK(refusal_of([&] {
          scan(world.service, world.acme, "claims", paged, Purpose::reload);
        }).field == "limit");
}

}  // namespace
}  // namespace comptroller::service
