#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "service/world.hpp"
#include "threads.hpp"

namespace comptroller::service {
namespace {

constexpr int threads = 8;

TEST_CASE("of many who delete one control, one does") {
  World world;
  world.put_identity("i1", "acme");
  for (int round = 0; round < 20; ++round) {
    const std::string id = world.create_control(world.acme, "i1", "CLOSED");
    std::array<std::string, threads> codes;
    in_threads(threads, [&](int thread) {
      codes[std::size_t(thread)] = world.code(world.acme, "controls.delete", {{"id", id}});
    });
    CHECK(std::ranges::count(codes, "") == 1);
    CHECK(std::ranges::count(codes, "already-deleted") == threads - 1);
  }
}

TEST_CASE("of many who create one kind of control, one does") {
  World world;
  for (int round = 0; round < 20; ++round) {
    const std::string identity = "i" + std::to_string(round);
    world.put_identity(identity, "acme");
    const std::string body =
        body_of({{"identity_id", identity}, {"type", "CLOSED"}, {"reason_code", "X"}});
    std::array<Refusal, threads> refusals;
    in_threads(threads, [&](int thread) {
      refusals[std::size_t(thread)] = world.refused(world.acme, "controls.create", {}, body);
    });
    CHECK(std::ranges::count(refusals, "", &Refusal::code) == 1);
    CHECK(std::ranges::count(refusals, "already-exists", &Refusal::code) == threads - 1);
    CHECK(world.count(world.acme, "controls.list", {{"identity_id", identity}}) == 1);
  }
}

TEST_CASE("of many who move one claim, one does") {
  World world;
  const std::string group = world.create_group(world.provider);
  for (int round = 0; round < 20; ++round) {
    const std::string id = "c" + std::to_string(round);
    world.call(world.provider, "claims.put", {},
               R"({"id":")" + id + R"(","payout_group_id":")" + group +
                   R"(","claim_type":"CLAIM_ALL","onchain_status":"PENDING","amount":"1",)"
                   R"("created_at":"2026-01-01T00:00:00Z"})");
    std::array<std::string, threads> codes;
    in_threads(threads, [&](int thread) {
      codes[std::size_t(thread)] =
          world.code(world.provider, "claims.submit", {{"id", id}}, R"({"tx_hash":"h"})");
    });
    CHECK(std::ranges::count(codes, "") == 1);
    CHECK(std::ranges::count(codes, "illegal-transition") == threads - 1);
  }
}

// Pages through all identities; gives their ids, refusing one that comes twice.
std::vector<std::string> walk(World& world, const std::string& order) {
  std::vector<std::string> ids;
  std::string cursor;
  do {
    const Json page = world.call(world.acme, "identities.list",
                                 {{"limit", "7"}, {"order", order}, {"page_cursor", cursor}});
    const std::vector<std::string> more = page.each("/items", "id");
    ids.insert(ids.end(), more.begin(), more.end());
    cursor = page.at("/next_page_cursor");
  } while (!cursor.empty());
  std::ranges::sort(ids);
  CHECK(std::ranges::adjacent_find(ids) == ids.end());
  return ids;
}

TEST_CASE("rows that are there throughout are on exactly one page, however many write") {
  World world;
  std::vector<std::string> throughout;
  for (int i = 0; i < 100; ++i) {
    throughout.push_back("before-" + std::to_string(i));
    world.put_identity(throughout.back(), "acme");  // all at one moment
  }
  std::ranges::sort(throughout);
  std::atomic<int> walking = 2;
  in_threads(threads, [&](int thread) {
    if (thread < 2) {
      for (int round = 0; round < 5; ++round) {
        const std::vector<std::string> ids = walk(world, thread == 0 ? "ASC" : "DESC");
        CHECK(std::ranges::includes(ids, throughout));
      }
      --walking;
      return;
    }
    for (int i = 0; walking > 0 && i < 200; ++i) {
      const std::string id = "at-once-" + std::to_string(thread) + "-" + std::to_string(i);
      world.put_identity(id, "acme");
      world.create_control(world.acme, id, "CLOSED");
    }
  });
}

}  // namespace
}  // namespace comptroller::service
