#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <future>
#include <latch>
#include <semaphore>
#include <thread>
#include <utility>
#include <vector>

#include "db/postgresql/connection.hpp"
#include "db/postgresql/writers.hpp"
#include "model/error.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"
#include "threads.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::refusal_of;

// A store with a table of counters.
struct Counters {
  explicit Counters(OpenOptions options = {}) : store(database.open(std::move(options))) {
    database.connect()->run_script(
        "CREATE TABLE counters (id integer PRIMARY KEY, value bigint NOT NULL DEFAULT 0);"
        "INSERT INTO counters (id) SELECT generate_series(1, 10)");
  }

  std::int64_t read(std::string_view sql) {
    const Lease reader = store->reader();
    Query row = reader->query(sql);
    return row.step() ? row.number(0) : 0;
  }
  std::int64_t value(int id) {
    return read("SELECT value FROM counters WHERE id = " + std::to_string(id));
  }

  TestDatabase database;
  std::unique_ptr<Database> store;
};

void increase(Connection& connection, std::int64_t id) {
  connection.run("UPDATE counters SET value = value + 1 WHERE id = ?", id);
}

void end_backend(Connection& connection) {
  connection.query("SELECT pg_terminate_backend(pg_backend_pid())").step();
}

TEST_CASE("a write that met another one runs again, at most five times") {
  if (!server_address()) return;
  Counters counters;
  int tries = 0;
  counters.store->write([&](Connection& connection) {
    increase(connection, 1);
    if (++tries < 5) throw Conflict(Code::internal, "met");
  });
  CHECK(tries == 5);
  CHECK(counters.value(1) == 1);
  tries = 0;
  CHECK(refusal_of([&] {
          counters.store->write([&](Connection& connection) {
            ++tries;
            connection.execute("INSERT INTO counters (id) VALUES (1)");
          });
        }).code == "unavailable");
  CHECK(tries == 5);
}

// Returns settings of a transaction.
std::string settings_of(Connection& connection) {
  Query row = connection.query(
      "SELECT concat_ws(' ', current_setting('synchronous_commit'),"
      " current_setting('idle_in_transaction_session_timeout'), "
      "current_setting('enable_seqscan'))");
  return row.step() ? std::string(row.column(0).bytes) : std::string();
}

TEST_CASE("a write waits for the disk, and not long for the process; a bulk write does") {
  if (!server_address()) return;
  const Counters counters;
  counters.store->write([](Connection& connection) {
    connection.execute(
        "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',"
        " current_database()); END $$");
  });
  const auto store = counters.database.open();
  store->write([](Connection& connection) { CHECK(settings_of(connection) == "on 1min off"); });
  for (const bool may_be_joined : {false, true}) {
    store->fill({.may_be_joined = may_be_joined})->write([](Connection& connection, Connection*) {
      CHECK(settings_of(connection) == "on 0 off");
      return true;
    });
  }
}

TEST_CASE("behind a pooler, the settings are those of each write") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  PostgresqlConnection first(database.connect(), nullptr);
  first.execute(
      "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET synchronous_commit = off',"
      " current_database()); END $$");
  PostgresqlConnection connection(database.connect(), nullptr);
  connection.set_behind_pooler();
  connection.set_up(true);
  CHECK(settings_of(connection) == "off 0 on");
  connection.begin_write(std::chrono::seconds(1));
  CHECK(settings_of(connection) == "on 1min off");
  connection.roll_back();
  connection.begin_bulk(std::chrono::seconds(1), false);
  CHECK(settings_of(connection) == "on 0 off");
  connection.roll_back();
  CHECK(settings_of(connection) == "off 0 on");
}

TEST_CASE("writes that wait for each other both succeed") {
  if (!server_address()) return;
  Counters counters;
  std::atomic<int> first_tries = 0;
  std::latch together(2);
  in_threads(2, [&](int thread) {
    int tries = 0;
    counters.store->write([&](Connection& connection) {
      increase(connection, 1 + thread);
      if (++tries == 1) {
        ++first_tries;
        together.arrive_and_wait();
      }
      increase(connection, 2 - thread);
    });
  });
  CHECK(first_tries == 2);
  CHECK(counters.value(1) == 2);
  CHECK(counters.value(2) == 2);
}

TEST_CASE("a write whose connection is lost before its commit runs again") {
  if (!server_address()) return;
  Counters counters;
  int tries = 0;
  counters.store->write([&](Connection& connection) {
    increase(connection, 1);
    if (++tries == 1) end_backend(connection);
  });
  CHECK(tries == 2);
  CHECK(counters.value(1) == 1);
}

TEST_CASE("a connection that is lost during the commit leaves the outcome unknown") {
  if (!server_address()) return;
  Counters counters;
  counters.database.connect()->run_script(
      "CREATE FUNCTION end_backend() RETURNS trigger LANGUAGE plpgsql AS"
      " 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN NULL; END';"
      "CREATE CONSTRAINT TRIGGER ends AFTER UPDATE ON counters DEFERRABLE INITIALLY DEFERRED"
      " FOR EACH ROW WHEN (NEW.id = 1) EXECUTE FUNCTION end_backend()");
  int tries = 0;
  const auto write = [&](std::int64_t id) {
    counters.store->write([&](Connection& connection) {
      ++tries;
      increase(connection, id);
    });
  };
  const auto refusal = refusal_of([&] { write(1); });
  CHECK(refusal.code == "outcome-unknown");
  CHECK(refusal.detail.find("Idempotency-Key") != std::string::npos);
  CHECK(tries == 1);
  write(2);  // on a new connection
  CHECK(counters.value(2) == 1);
}

TEST_CASE("a write that throws changes nothing") {
  if (!server_address()) return;
  Counters counters;
  CHECK(refusal_of([&] {
          counters.store->write([](Connection& connection) {
            increase(connection, 1);
            throw Error(Code::not_found, "nothing");
          });
        }).code == "not-found");
  CHECK(counters.value(1) == 0);
}

TEST_CASE("a bulk write is alone, and others wait for it") {
  if (!server_address()) return;
  Counters counters({.max_wait = std::chrono::milliseconds(200)});
  counters.store->write_bulk([&](Connection& connection) {
    increase(connection, 1);
    std::string code;
    std::jthread([&] {
      code = refusal_of([&] { counters.store->write([](Connection& c) { increase(c, 2); }); }).code;
    }).join();
    CHECK(code == "unavailable");
    bool has_run = true;
    std::jthread([&] {
      has_run = counters.store->write_unless_bulk([](Connection& c) { increase(c, 2); });
    }).join();
    CHECK_FALSE(has_run);
    return true;
  });
  counters.store->write_bulk([&](Connection& connection) {
    increase(connection, 1);
    return false;
  });
  CHECK(counters.value(1) == 1);
  CHECK(counters.value(2) == 0);
  counters.store->write([](Connection& connection) { increase(connection, 2); });
  CHECK(counters.value(2) == 1);
}

// Set by a thread whose first wait for its turn is to be reported.
thread_local std::counting_semaphore<>* first_wait = nullptr;

void report_wait() {
  if (auto* const waits = std::exchange(first_wait, nullptr)) waits->release();
}

TEST_CASE("as many writes run at once as there are connections, and others wait in order") {
  if (!server_address()) return;
  Counters counters({.check_interrupt = report_wait});
  constexpr int max_running = static_cast<int>(Writers::max_writers);
  std::atomic<int> running = 0;
  std::latch all_run(max_running);
  std::counting_semaphore<> ends(0);
  std::vector<std::jthread> held;
  for (int thread = 0; thread < max_running; ++thread) {
    held.emplace_back([&] {
      counters.store->write([&](Connection&) {
        ++running;
        all_run.count_down();
        ends.acquire();
        --running;
      });
    });
  }
  all_run.wait();
  CHECK(running == max_running);

  std::array<std::atomic<int>, 6> places{};
  std::atomic<int> next_place = 0;
  std::atomic<int> most = 0;
  std::counting_semaphore<> waits(0);
  std::vector<std::jthread> queued;
  for (std::atomic<int>& place : places) {
    queued.emplace_back([&] {
      first_wait = &waits;
      counters.store->write([&](Connection&) {
        most = std::max(most.load(), ++running);
        place = next_place++;
        --running;
      });
      report_wait();  // it has not waited
    });
    waits.acquire();
  }
  CHECK(next_place == 0);
  ends.release();  // so that the queued ones run one by one
  queued.clear();
  for (std::size_t number = 0; number < places.size(); ++number) {
    CHECK(places[number] == static_cast<int>(number));
  }
  CHECK(most == max_running);
  ends.release(max_running - 1);
  held.clear();
  CHECK(counters.store->commits().writes >= max_running + places.size());
}

TEST_CASE("writes that no thread waits for end with their outcome") {
  if (!server_address()) return;
  Counters counters;
  constexpr int count = 40;
  std::array<std::promise<std::exception_ptr>, count> outcomes;
  for (int number = 0; number < count; ++number) {
    counters.store->write_later(
        [number](Connection& connection) {
          increase(connection, 3);
          if (number % 4 == 0) throw Error(Code::not_found, "nothing");
        },
        [&outcome = outcomes[std::size_t(number)]](std::exception_ptr failure) {
          outcome.set_value(std::move(failure));
        });
  }
  for (int number = 0; number < count; ++number) {
    CHECK((outcomes[std::size_t(number)].get_future().get() != nullptr) == (number % 4 == 0));
  }
  CHECK(counters.value(3) == count - count / 4);
}

TEST_CASE("an exception of the callback cancels a statement, and the connection goes on") {
  if (!server_address()) return;
  struct Stop {};
  std::atomic<bool> stops = false;
  Counters counters({.check_interrupt = [&] {
    if (stops) throw Stop();
  }});
  for (const bool is_write : {false, true}) {
    CAPTURE(is_write);
    const auto sleep = [&](Connection& connection) {
      stops = true;
      connection.query("SELECT pg_sleep(60)").step();
    };
    const auto begin = Clock::now();
    if (is_write) {
      CHECK_THROWS_AS(counters.store->write(sleep), Stop);
    } else {
      CHECK_THROWS_AS(sleep(*counters.store->reader()), Stop);
    }
    CHECK(Clock::now() - begin < std::chrono::seconds(10));
    stops = false;
    counters.store->write([](Connection& connection) { increase(connection, 4); });
  }
  CHECK(counters.value(4) == 2);
  CHECK(counters.read("SELECT count(*) FROM pg_stat_activity WHERE state = 'active'"
                      " AND query LIKE '%pg_sleep(60)%' AND pid <> pg_backend_pid()") == 0);
}

TEST_CASE("closing ends a read that waits for the server") {
  if (!server_address()) return;
  Counters counters;
  std::string code;
  std::jthread reading([&] {
    code = refusal_of([&] { counters.store->reader()->query("SELECT pg_sleep(60)").step(); }).code;
  });
  counters.store->interrupt();
  reading.join();
  CHECK(code == "closed");
}

TEST_CASE("readers of one snapshot see one state beside writes") {
  if (!server_address()) return;
  Counters counters;
  auto readers = counters.store->readers_of_one_snapshot(3);
  counters.store->write([](Connection& connection) { increase(connection, 5); });
  for (const Lease& reader : readers) {
    Query row = reader->query("SELECT value FROM counters WHERE id = 5");
    REQUIRE(row.step());
    CHECK(row.number(0) == 0);
  }
  CHECK(counters.value(5) == 1);
}

TEST_CASE("readers of one snapshot are those of one server") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  // The function of this schema comes before that of the server: each connection is to another one.
  database.connect()->run_script(
      "CREATE SCHEMA several; CREATE FUNCTION several.pg_postmaster_start_time() RETURNS"
      " timestamptz LANGUAGE sql AS $$ SELECT to_timestamp(4e9 + pg_backend_pid()) $$");
  const auto store =
      postgresql::open(database.address() + "&options=-csearch_path%3Dseveral,public,pg_catalog",
                       {.read_only = true});
  const auto readers = store->readers_of_one_snapshot(3);
  CHECK(readers.size() == 1);
  CHECK(readers.front()->query("SELECT 1").step());
}

TEST_CASE("statistics that are reset change no server") {
  if (!server_address()) return;
  const Counters counters;
  const Lease reader = counters.store->reader();
  const auto start = [&] {
    Query query =
        reader->query("SELECT " + static_cast<PostgresqlConnection&>(*reader).start_of_server());
    query.step();
    return query.number(0);
  };
  const std::int64_t before = start();
  counters.database.connect()->run_script("SELECT pg_stat_reset_shared('bgwriter')");
  CHECK(start() == before);
}

TEST_CASE("the version changes with every commit") {
  if (!server_address()) return;
  Counters counters;
  std::int64_t version = counters.store->version();
  CHECK(counters.store->version() == version);
  for (int round = 0; round < 3; ++round) {
    counters.store->write([](Connection& connection) { increase(connection, 6); });
    CHECK(counters.store->version() != version);
    version = counters.store->version();
  }
}

TEST_CASE("entries of the journal cannot be changed") {
  if (!server_address()) return;
  const TestDatabase database;
  service::ServiceFixture fixture(database.open());
  fixture.put_identity("i1", "acme");
  for (const char* sql :
       {"UPDATE journal SET content = ''", "DELETE FROM journal", "TRUNCATE journal"}) {
    CAPTURE(sql);
    const auto session = database.connect();
    CHECK(refusal_of([&] {
            session->run_script(sql);
          }).detail.find("an entry of the journal is never") != std::string::npos);
  }
}

TEST_CASE("of two servers that get one idempotency key, one executes the write") {
  if (!server_address()) return;
  const TestDatabase database;
  service::ServiceFixture one(database.open());
  service::ServiceFixture two(database.open());
  for (int round = 0; round < 10; ++round) {
    const std::string key = "k" + std::to_string(round);
    const std::string body = R"({"ledger":"ETHEREUM","asset_type":"ETH","jurisdiction":"DE",)"
                             R"("name":"Main","claimer_address":)"
                             R"("0x0000000000000000000000000000000000000001"})";
    std::array<service::Answer, 2> answers;
    in_threads(2, [&](int thread) {
      auto& fixture = thread == 0 ? one : two;
      answers[std::size_t(thread)] =
          fixture.answer(fixture.acme, "payout_groups.create", {}, body, key);
    });
    CHECK(answers[0].body == answers[1].body);
    CHECK(answers[0].is_replay != answers[1].is_replay);
  }
  CHECK(one.count(one.acme, "payout_groups.list") == 10);
}

}  // namespace
}  // namespace comptroller::db::postgresql
