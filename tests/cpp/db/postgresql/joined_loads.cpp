// Loads beside other writes: what each of them wrote is complete, and told apart in the journal.
#include <doctest/doctest.h>

#include <latch>
#include <thread>

#include "postgresql_server.hpp"
#include "service/ingestion.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"
#include "store/journal_records.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::Json;
using service::ServiceFixture;

constexpr const char* group = "00000000-0000-4000-8000-000000000001";

Claim claim_of(const std::string& id, ClaimStatus status = ClaimStatus::pending) {
  Claim claim;
  claim.id = Id{id};
  claim.payout_group_id = GroupId{group};
  claim.claim_type = Word{"CLAIM_ALL"};
  claim.onchain_status = status;
  claim.amount = NonNegativeAmount{"1.50"};
  claim.created_at = service::start;
  claim.updated_at = UpdatedAt{{service::start.microseconds + static_cast<int>(status)}};
  return claim;
}

std::string line_of(const std::string& id, const std::string& status = "PENDING",
                    const std::string& updated_at = "2026-03-01T12:00:00Z") {
  return R"({"id":")" + id + R"(","payout_group_id":")" + group +
         R"(","claim_type":"CLAIM_ALL","onchain_status":")" + status +
         R"(","amount":"1.50","created_at":"2026-03-01T12:00:00Z","updated_at":")" + updated_at +
         R"("})";
}

// A load in two parts, and another service with the same store.
struct Load {
  explicit Load(const TestDatabase& database)
      : loading(database.open()), beside(database.open({.max_wait = std::chrono::seconds(2)})) {}

  // Loads claims; calls `meanwhile` between the two parts of their lines.
  bool run(std::vector<Claim> first, std::vector<Claim> second, const auto& meanwhile) {
    Database& database = *loading.service.database();
    const Filling filling{.table = Claim::table, .may_be_joined = true};
    return database.fill(filling)->write([&](Connection& connection, Connection*) {
      store::JournalTreeCache tree;
      store::Changes changes(connection, {service::start, "operator", "claims.load"}, tree);
      changes.begin_batch();
      service::Ingestion ingestion(changes, loading.provider, std::nullopt, service::start,
                                   loading.service.environment().make_id);
      for (std::vector<Claim>* const part : {&first, &second}) {
        if (part == &second) meanwhile();
        std::vector<service::NewLine<Claim>> lines;
        for (Claim& claim : *part) lines.push_back({&claim});
        for (const auto& result : ingestion.take(lines)) CHECK(result.rejection == nullptr);
      }
      ingestion.finish();
      changes.finish_batch({});
      return true;
    });
  }

  ServiceFixture loading;
  ServiceFixture beside;
};

// Takes one line in a write of its own.
template <class Line>
void take(ServiceFixture& fixture, Connection& connection, Line line) {
  store::JournalTreeCache tree;
  store::Changes changes(connection, {service::start, "operator", "put"}, tree);
  service::Ingestion ingestion(changes, fixture.provider, std::nullopt, service::start,
                               fixture.service.environment().make_id);
  ingestion.take(line);
  ingestion.finish();
}

// Returns "id operation" of each change of the feed.
std::string feed_of(ServiceFixture& fixture, const Principal& principal) {
  const Json page = fixture.call(principal, "changes.list", {{"resources", "claims"}});
  std::string text;
  const auto ids = page.each("/items", "id");
  const auto operations = page.each("/items", "operation");
  for (std::size_t index = 0; index < ids.size(); ++index) {
    text += ids[index] + " " + operations[index] + "\n";
  }
  return text;
}

TEST_CASE("records that others write during a load are not records of the load") {
  if (!server_address()) return;
  const TestDatabase database;
  Load load(database);
  ServiceFixture& beside = load.beside;
  const bool is_kept =
      load.run({claim_of("a"), claim_of("b")}, {claim_of("c"), claim_of("d")}, [&] {
        beside.call(beside.provider, "claims.put", {}, line_of("other"));
        beside.call(beside.provider, "claims.put", {},
                    line_of("other", "SUBMITTED", "2026-03-01T13:00:00Z"));
        beside.put_identity("someone", "acme");
      });
  CHECK(is_kept);
  CHECK(Json(check(beside.service, beside.provider)).at("/findings") == "[]");
  const char* const expected =
      "other claims.put\nother claims.put\na claims.load\nb claims.load\nc claims.load\n"
      "d claims.load\n";
  CHECK(feed_of(beside, beside.provider) == expected);
  CHECK(feed_of(beside, service::make_principal("default", {}, {})) == expected);
  const Lease reader = beside.service.database()->reader();
  store::RecordHistories histories(*reader);
  CHECK(!histories.find("claims", "other").front().loaded_by);
  CHECK(!histories.find("claims", "other").front().inserted_by);
  CHECK(histories.find("claims", "d").front().loaded_by);
}

TEST_CASE("a load merges a record that another write inserted meanwhile") {
  if (!server_address()) return;
  const TestDatabase database;
  Load load(database);
  ServiceFixture& beside = load.beside;
  CHECK(load.run({claim_of("a")}, {claim_of("b"), claim_of("b", ClaimStatus::submitted)},
                 [&] { beside.call(beside.provider, "claims.put", {}, line_of("b")); }));
  CHECK(beside.call(beside.provider, "claims.get", {{"id", "b"}}).at("/onchain_status") ==
        "SUBMITTED");
  CHECK(Json(check(beside.service, beside.provider)).at("/findings") == "[]");
}

TEST_CASE("a load meets an id that another write inserts at the same time") {
  if (!server_address()) return;
  const TestDatabase database;
  Load load(database);
  ServiceFixture& beside = load.beside;
  // A write that holds the id until the load has looked it up and waits for its end.
  std::thread writing;
  CHECK(load.run({claim_of("a")}, {claim_of("b", ClaimStatus::submitted), claim_of("c")}, [&] {
    std::latch has_inserted(1);
    writing = std::thread([&] {
      beside.service.database()->write([&](Connection& connection) {
        take(beside, connection, claim_of("b"));
        has_inserted.count_down();
        const auto observer = database.connect();
        while (true) {  // until the COPY waits for this transaction
          observer->add_statement(
              "SELECT FROM pg_stat_activity WHERE wait_event = 'transactionid'");
          if (libpq().count_rows(observer->run().back().get()) > 0) break;
        }
      });
    });
    has_inserted.wait();
  }));
  writing.join();
  CHECK(beside.call(beside.provider, "claims.get", {{"id", "b"}}).at("/onchain_status") ==
        "SUBMITTED");
  CHECK(Json(check(beside.service, beside.provider)).at("/findings") == "[]");
}

TEST_CASE("one load runs at a time, and waits for a group that is being changed") {
  if (!server_address()) return;
  const TestDatabase database;
  Load load(database);
  ServiceFixture& beside = load.beside;
  CHECK(load.run({claim_of("a")}, {claim_of("b")}, [&] {
    const auto code_of = [&](const auto& action) { return service::refusal_of(action).code; };
    CHECK(code_of([&] {
            const auto second = beside.service.database()->fill({.may_be_joined = true});
            second->write([](Connection& connection, Connection*) {
              return connection.query("SELECT key FROM symbols").step();
            });
          }) == "unavailable");
    // The claims of the load have the group's jurisdiction, so it does not change before its end.
    PayoutGroup line;
    line.id.value = group;
    line.created_at = service::start;
    CHECK(code_of([&] {
            beside.service.database()->write(
                [&](Connection& connection) { take(beside, connection, line); });
          }) == "unavailable");
  }));
}

}  // namespace
}  // namespace comptroller::db::postgresql
