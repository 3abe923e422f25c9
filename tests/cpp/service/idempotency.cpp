#include "store/idempotency.hpp"

#include <doctest/doctest.h>
#include <poll.h>

#include <array>
#include <latch>
#include <thread>

#include "service/deferred_writes.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::service {
namespace {

constexpr std::int64_t one_day_us = 24 * one_hour_us;

struct Keyed : ServiceFixture {
  Keyed() {
    put_identity("i1", "acme");
    put_identity("z1", "zenith");
    now = start;
  }
  static std::string closing(const std::string& identity, const std::string& reason = "TEST") {
    return body_of({{"identity_id", identity}, {"type", "CLOSED"}, {"reason_code", reason}});
  }
  Answer create(const std::string& key, const std::string& body = closing("i1")) {
    return answer(acme, "controls.create", {}, body, key);
  }
  Refusal refused_create(const std::string& key, const std::string& body = closing("i1")) {
    return refused(acme, "controls.create", {}, body, key);
  }
};

TEST_CASE_FIXTURE(Keyed, "the same request with the same key gets the same answer, byte for byte") {
  const Answer first = create("k");
  CHECK_FALSE(first.is_replay);
  now.microseconds += 1;
  const Answer again = create("k");
  CHECK(again.is_replay);
  CHECK(again.body == first.body);
  CHECK(count(acme, "controls.list") == 1);
}

TEST_CASE_FIXTURE(Keyed, "expired answers are deleted a hundred at a time") {
  constexpr int expired = 350;
  const auto stored = [&] {
    const db::Lease reader = service.database()->reader();
    db::Query query = reader->query("SELECT count(*) FROM idempotency_keys");
    query.step();
    return query.column(0).integer;
  };
  service.database()->write([&](db::Connection& connection) {
    for (int number = 0; number < expired; ++number) {
      store::keep_answer(connection, {"acme", "controls.create", std::to_string(number)},
                         {"f", "{}"}, Timestamp{now.microseconds - one_day_us - number});
    }
  });
  for (const int left : {250, 150, 50}) {
    service.database()->write(
        [&](db::Connection& connection) { CHECK(store::delete_expired_answers(connection, now)); });
    CHECK(stored() == left);
  }
  // The youngest answer is expired but still stored: its key is free.
  CHECK_FALSE(create("0").is_replay);
  CHECK(create("0").is_replay);
  CHECK(stored() == 1);
}

TEST_CASE_FIXTURE(Keyed, "a keyed write leaves most expired answers to the background") {
  service.database()->write([&](db::Connection& connection) {
    for (int number = 0; number < 1'000; ++number) {
      store::keep_answer(connection, {"acme", "controls.create", std::to_string(number)},
                         {"f", "{}"}, Timestamp{now.microseconds - one_day_us - number});
    }
  });
  create("k");
  const auto stored = [&] {
    const db::Lease reader = service.database()->reader();
    db::Query query = reader->query("SELECT count(*) FROM idempotency_keys");
    query.step();
    return query.column(0).integer;
  };
  while (stored() > 1) std::this_thread::yield();
  CHECK(create("k").is_replay);
}

TEST_CASE_FIXTURE(Keyed, "requests are compared by content, not by bytes") {
  create("k");
  CHECK(create("k",
               " {\"type\" : \"CLOSED\", \"reason_code\":\"TEST\","
               "\"identity_\\u0069d\":\"i1\"}")
            .is_replay);
  const auto update = [&](const std::string& metadata) {
    return answer(acme, "identities.update", {{"id", "i1"}}, R"({"metadata":)" + metadata + "}",
                  "m");
  };
  CHECK_FALSE(update(R"({"a":"1","b":"2"})").is_replay);
  CHECK(update(R"({"b":"2","a":"1"})").is_replay);
}

TEST_CASE_FIXTURE(Keyed, "another request with a used key is refused") {
  create("k");
  const Refusal refusal = refused_create("k", closing("i1", "OTHER"));
  CHECK(refusal.code == "idempotency-key-reused");
  CHECK(count(acme, "controls.list") == 1);
  CHECK(create("k").is_replay);
}

TEST_CASE_FIXTURE(Keyed, "a key is stored for exactly one day") {
  const Answer first = create("k");
  const std::string id = Json(first.body).at("/id");
  now.microseconds = start.microseconds + one_day_us - 1;
  CHECK(create("k").is_replay);
  now.microseconds = start.microseconds + one_day_us;
  CHECK(refused_create("k").code == "already-exists");  // runs again: the control is active
  call(acme, "controls.delete", {{"control_id", id}});
  const Answer second = create("k");
  CHECK_FALSE(second.is_replay);
  CHECK(second.body != first.body);
  now.microseconds += one_day_us - 1;
  CHECK(create("k").body == second.body);
}

TEST_CASE_FIXTURE(Keyed, "after a day the key may be used for another request") {
  create("k");
  now.microseconds += one_day_us;
  CHECK_FALSE(
      create("k", body_of({{"identity_id", "i1"}, {"type", "DORMANT"}, {"reason_code", "TEST"}}))
          .is_replay);
}

TEST_CASE_FIXTURE(Keyed, "an error leaves the key free") {
  CHECK(refused_create("k", closing("nobody")).code == "not-found");
  CHECK(refused_create("k", "{").code == "malformed-json");
  CHECK_FALSE(create("k").is_replay);
  CHECK(create("k").is_replay);
}

TEST_CASE_FIXTURE(Keyed, "a key belongs to its customer and its operation") {
  create("k");
  const Answer foreign = answer(zenith, "controls.create", {}, closing("z1"), "k");
  CHECK_FALSE(foreign.is_replay);
  const Answer of_operator = answer(provider, "controls.create", {}, closing("i1"), "k");
  CHECK_FALSE(of_operator.is_replay);
  const std::string id = Json(foreign.body).at("/id");
  CHECK_FALSE(answer(zenith, "controls.delete", {}, body_of({{"control_id", id}}), "k").is_replay);
}

TEST_CASE_FIXTURE(Keyed, "a customer never gets an answer of another customer by its key") {
  create("k");
  CHECK(refused(zenith, "controls.create", {}, closing("i1"), "k").code == "not-found");
}

TEST_CASE_FIXTURE(Keyed, "a retried deletion gets the same answer") {
  const std::string id = Json(create("c").body).at("/id");
  const auto remove = [&] {
    return answer(acme, "controls.delete", {{"control_id", id}}, "", "d");
  };
  const Answer first = remove();
  now.microseconds += one_hour_us;
  CHECK(remove().body == first.body);
  CHECK(code(acme, "controls.delete", {{"control_id", id}}) == "already-deleted");
}

TEST_CASE_FIXTURE(Keyed, "a key is 1 to 255 printable characters") {
  CHECK_FALSE(create(std::string(255, 'k')).is_replay);
  for (const std::string& key :
       {std::string(), std::string(256, 'k'), std::string("a\nb"), std::string("a\0b", 3),
        std::string("\x7f"), std::string("k\xc3\xa9")}) {
    CAPTURE(key);
    const Refusal refusal = refused_create(key);
    CHECK(refusal.code == "invalid-request");
    CHECK(refusal.field == "Idempotency-Key");
  }
  put_identity("i2", "acme");
  CHECK_FALSE(create(" ~", closing("i2")).is_replay);
}

TEST_CASE_FIXTURE(Keyed, "a read with a key is refused") {
  CHECK(refused(acme, "controls.list", {}, "", "k").field == "Idempotency-Key");
}

TEST_CASE_FIXTURE(Keyed, "scopes are checked before a stored answer is returned") {
  create("k");
  acme.scopes.clear();
  CHECK(refused_create("k").code == "insufficient-scope");
}

TEST_CASE_FIXTURE(Keyed,
                  "of many threads with one key one runs; the others wait for it or are refused") {
  constexpr std::size_t threads = 8;
  for (int round = 0; round < 20; ++round) {
    const std::string key = "race" + std::to_string(round);
    const std::string identity = "r" + std::to_string(round);
    put_identity(identity, "acme");
    std::array<std::string, threads> outcomes;
    std::array<std::string, threads> bodies;
    std::latch together(threads);
    {
      std::vector<std::jthread> running;
      for (std::size_t i = 0; i < threads; ++i) {
        running.emplace_back([&, i] {
          together.arrive_and_wait();
          outcomes[i] = refusal_of([&] {
                          const Answer given = create(key, closing(identity));
                          bodies[i] = given.body + (given.is_replay ? "" : "!");
                        }).code;
        });
      }
    }
    std::size_t ran = 0;
    for (std::size_t i = 0; i < threads; ++i) {
      CHECK((outcomes[i].empty() || outcomes[i] == "idempotency-in-flight"));
      ran += bodies[i].ends_with('!') ? 1 : 0;
    }
    CHECK(ran == 1);
    CHECK(count(acme, "controls.list", {{"identity_id", identity}}) == 1);
    CHECK(create(key, closing(identity)).is_replay);
  }
}

TEST_CASE_FIXTURE(Keyed, "while a request runs, its key is in flight and other keys are free") {
  std::latch is_busy(1);
  std::latch continue_change(1);
  std::jthread other([&] {
    service.database()->write([&](db::Connection&) {
      is_busy.count_down();
      continue_change.wait();
    });
  });
  is_busy.wait();
  DeferredWrites writes;
  const auto ticket =
      writes.submit(service, acme, {&require_operation("controls.create"), {}, closing("i1"), "k"});
  CHECK(refused_create("k").code == "idempotency-in-flight");
  CHECK(refused(zenith, "controls.create", {}, "{", "k").code == "malformed-json");
  continue_change.count_down();
  other.join();
  pollfd answered{writes.descriptor(), POLLIN, 0};
  REQUIRE(::poll(&answered, 1, 10'000) == 1);
  const auto completed = writes.take();
  REQUIRE(completed.size() == 1);
  CHECK(completed.front().ticket == ticket);
  CHECK_FALSE(completed.front().failure);
  CHECK(create("k").body == completed.front().answer.body);
  CHECK(create("k").is_replay);
}

}  // namespace
}  // namespace comptroller::service
