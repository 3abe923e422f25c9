#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "load/loader.hpp"
#include "load/pieces.hpp"
#include "service/call_resources.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"
#include "threads.hpp"

namespace comptroller::service {
namespace {

constexpr int threads = 8;

TEST_CASE("many threads reserve idempotency keys at once") {
  constexpr int keys_of_each = 3000;
  KeysInFlight keys;
  in_threads(threads, [&](int thread) {
    for (int i = 0; i < keys_of_each; ++i) {
      keys.reserve({"acme", "controls.create", std::to_string(thread * keys_of_each + i)});
    }
  });
  const auto reserved = keys.reserve({"acme", "controls.create", "0"});  // all were released
  CHECK(refusal_of([&] { keys.reserve(*reserved); }).code == "idempotency-in-flight");
}

TEST_CASE("of many threads that delete one control, one succeeds") {
  ServiceFixture fixture;
  fixture.put_identity("i1", "acme");
  for (int round = 0; round < 20; ++round) {
    const std::string id = fixture.create_control(fixture.acme, "i1", "CLOSED");
    std::array<std::string, threads> codes;
    in_threads(threads, [&](int thread) {
      codes[std::size_t(thread)] = fixture.code(fixture.acme, "controls.delete", {{"id", id}});
    });
    CHECK(std::ranges::count(codes, "") == 1);
    CHECK(std::ranges::count(codes, "already-deleted") == threads - 1);
  }
}

TEST_CASE("of many threads that create one kind of control, one succeeds") {
  ServiceFixture fixture;
  for (int round = 0; round < 20; ++round) {
    const std::string identity = "i" + std::to_string(round);
    fixture.put_identity(identity, "acme");
    const std::string body =
        body_of({{"identity_id", identity}, {"type", "CLOSED"}, {"reason_code", "X"}});
    std::array<Refusal, threads> refusals;
    in_threads(threads, [&](int thread) {
      refusals[std::size_t(thread)] = fixture.refused(fixture.acme, "controls.create", {}, body);
    });
    CHECK(std::ranges::count(refusals, "", &Refusal::code) == 1);
    CHECK(std::ranges::count(refusals, "already-exists", &Refusal::code) == threads - 1);
    CHECK(fixture.count(fixture.acme, "controls.list", {{"identity_id", identity}}) == 1);
  }
}

TEST_CASE("of many threads that change one claim, one succeeds") {
  ServiceFixture fixture;
  const std::string group = fixture.create_group(fixture.provider);
  for (int round = 0; round < 20; ++round) {
    const std::string id = "c" + std::to_string(round);
    fixture.call(fixture.provider, "claims.put", {},
                 R"({"id":")" + id + R"(","payout_group_id":")" + group +
                     R"(","claim_type":"CLAIM_ALL","onchain_status":"PENDING","amount":"1",)"
                     R"("created_at":"2026-01-01T00:00:00Z"})");
    std::array<std::string, threads> codes;
    in_threads(threads, [&](int thread) {
      codes[std::size_t(thread)] =
          fixture.code(fixture.provider, "claims.submit", {{"id", id}}, R"({"tx_hash":"h"})");
    });
    CHECK(std::ranges::count(codes, "") == 1);
    CHECK(std::ranges::count(codes, "illegal-transition") == threads - 1);
  }
}

// Pages through all identities and returns their ids; fails if an id appears more than once.
std::vector<std::string> ids_of_all_pages(ServiceFixture& fixture, const std::string& order) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    const Json page = fixture.call(fixture.acme, "identities.list",
                                   {{"limit", "7"}, {"order", order}, {"page_cursor", cursor}});
    const std::vector<std::string> more = page.each("/items", "id");
    ids.insert(ids.end(), more.begin(), more.end());
    cursor = page.at("/next_page_cursor");
  } while (!cursor.empty());
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  return ids;
}

TEST_CASE("rows that exist throughout are on exactly one page during many writes") {
  ServiceFixture fixture;
  std::vector<std::string> throughout;
  for (int i = 0; i < 100; ++i) {
    throughout.push_back("before-" + std::to_string(i));
    fixture.put_identity(throughout.back(), "acme");  // all at one time
  }
  std::ranges::sort(throughout);
  std::atomic<int> walking = 2;
  in_threads(threads, [&](int thread) {
    if (thread < 2) {
      for (int round = 0; round < 5; ++round) {
        const std::vector<std::string> ids =
            ids_of_all_pages(fixture, thread == 0 ? "ASC" : "DESC");
        CHECK(std::ranges::includes(ids, throughout));
      }
      --walking;
      return;
    }
    for (int i = 0; walking > 0 && i < 200; ++i) {
      const std::string id = "at-once-" + std::to_string(thread) + "-" + std::to_string(i);
      fixture.put_identity(id, "acme");
      fixture.create_control(fixture.acme, id, "CLOSED");
    }
  });
}

void check_soundness(ServiceFixture& fixture) {
  const Json soundness(check(fixture.service, fixture.provider));
  CHECK(soundness.at("/findings") == "[]");
}

// What one of many threads does in a turn: a load, and requests of a client and of the operator,
// some of which meet those of other threads.
void do_a_turn(ServiceFixture& fixture, const std::string& mine, const std::string& group) {
  fixture.put_identity(mine, "acme");
  fixture.put_identity("shared", "acme");
  const std::string control = fixture.create_control(fixture.acme, mine, "CLOSED");
  const std::string claim = R"({"id":")" + mine + R"(","payout_group_id":")" + group +
                            R"(","claim_type":"CLAIM_ALL","onchain_status":"PENDING",)" +
                            R"("amount":"1","created_at":"2026-01-01T00:00:00Z"})";
  load::TextInput lines(claim);
  load::LoadOptions options;
  options.kind = "claims";
  options.customer_id = "acme";
  CHECK(load::load(fixture.service, fixture.provider, lines, options).inserted == 1);
  CHECK(fixture.code(fixture.provider, "claims.submit", {{"id", mine}}, R"({"tx_hash":"h"})") ==
        "");
  CHECK(fixture.code(fixture.acme, "controls.delete", {{"id", control}}) == "");
  const std::string once =
      body_of({{"identity_id", "shared"}, {"type", "CLOSED"}, {"reason_code", "X"}});
  CHECK(fixture.refused(fixture.acme, "controls.create", {}, once, mine).code != "internal-error");
  CHECK(fixture.code(fixture.acme, "identities.get", {{"id", mine}}) == "");
  for (const char* list : {"identities.list", "controls.list", "claims.list", "journal.list"}) {
    CHECK(fixture.code(fixture.provider, list, {{"limit", "20"}}) == "");
  }
  CHECK(fixture.code(fixture.acme, "controls.list", {{"identity_id", "shared"}}) == "");
}

TEST_CASE("64 threads that make mixed calls disturb neither each other nor the store") {
  constexpr int many = 64;
  constexpr int turns = 3;
  ServiceFixture fixture;
  const std::string group =
      fixture.create_group(fixture.provider, "ETHEREUM", R"(,"customer_id":"acme")");
  in_threads(many, [&](int thread) {
    for (int turn = 0; turn < turns; ++turn) {
      do_a_turn(fixture, std::to_string(thread) + "-" + std::to_string(turn), group);
    }
    if (thread % 16 == 0) check_soundness(fixture);
  });
  CHECK(fixture.count(fixture.acme, "identities.list") == many * turns + 1);
  CHECK(fixture.count(fixture.provider, "claims.list", {{"statuses", "SUBMITTED"}}) ==
        many * turns);
  check_soundness(fixture);
}

}  // namespace
}  // namespace comptroller::service
