#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <semaphore>
#include <thread>

#include "db/folder.hpp"
#include "db/interrupt.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/database.hpp"
#include "db/sqlite/lock_file.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

constexpr std::string_view endless =
    "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)"
    " SELECT max(n) FROM numbers WHERE n < 0";

struct Stop {
  int call;
};

// A callback that throws at its nth call; n may be changed.
struct Callback {
  std::atomic<int> calls = 0;
  std::atomic<int> throwing_call = 0;

  std::function<void()> function() {
    return [this] {
      const int call = ++calls;
      if (call == throwing_call) throw Stop{call};
    };
  }
  void throw_at(int call) {
    calls = 0;
    throwing_call = call;
  }
};

// Returns the call at which the callback ended the action; 0 if it did not.
int ended_at(const std::function<void()>& action) {
  try {
    action();
    return 0;
  } catch (const Stop& stop) {
    return stop.call;
  }
}

std::string refusal(const std::function<void()>& action) {
  try {
    action();
    return "";
  } catch (const Error& error) {
    CHECK((error.code() == Code::unavailable || error.code() == Code::closed));
    return error.detail();
  }
}

void insert(Connection& connection, std::int64_t key) {
  connection.query("INSERT INTO customers (key) VALUES (?)").bind(1, Value::of(key)).run();
}

std::int64_t count(Connection& connection) {
  Query query = connection.query("SELECT count(*) FROM customers");
  query.step();
  return query.column(0).integer;
}

// Adds several megabytes.
void fill(Database& database) {
  database.write_bulk([](Connection& connection) {
    connection
        .query(
            "WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n <"
            " 150000) INSERT INTO symbols (text) SELECT 'a symbol number ' || n FROM numbers")
        .run();
    return true;
  });
}

TEST_CASE("a thread whose work was stopped ends its statement") {
  const auto database = sqlite::open("", {.is_temporary = true});
  const Lease reader = database->reader();
  std::stop_source end;
  std::string detail;
  std::jthread working([&] {
    const StopScope scope(end.get_token());
    detail = refusal([&] { reader->query(endless).step(); });
  });
  end.request_stop();
  working.join();
  CHECK(detail == "the caller has stopped this work");
  CHECK(count(*reader) == 0);
}

TEST_CASE("an exception of the callback ends a statement, and the connection remains usable") {
  Callback callback;
  const auto database =
      sqlite::open("", {.is_temporary = true, .check_interrupt = callback.function()});
  const Lease reader = database->reader();
  for (const int call : {1, 3}) {
    callback.throw_at(call);
    CHECK(ended_at([&] { reader->query(endless).step(); }) == call);
    CHECK(count(*reader) == 0);
    callback.throw_at(call);
    CHECK(ended_at([&] { reader->execute(std::string(endless)); }) == call);
  }
  const Snapshot snapshot(*reader);
  callback.throw_at(1);
  CHECK(ended_at([&] { reader->query(endless).step(); }) == 1);
  CHECK(count(*reader) == 0);
}

TEST_CASE("an exception of the callback ends a write and a load, which store nothing") {
  Callback callback;
  const auto database =
      sqlite::open("", {.is_temporary = true, .check_interrupt = callback.function()});
  callback.throw_at(2);
  CHECK(ended_at([&] {
          database->write([](Connection& connection) {
            insert(connection, 1);
            connection.query(endless).step();
          });
        }) == 2);
  callback.throw_at(2);
  CHECK(ended_at([&] {
          database->write_bulk([](Connection& connection) {
            insert(connection, 2);
            connection.query(endless).step();
            return true;
          });
        }) == 2);
  database->write([](Connection& connection) { insert(connection, 3); });
  CHECK(count(*database->reader()) == 1);
}

TEST_CASE("a statement and the waits of a write end soon if the callback throws") {
  Callback callback;
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {.check_interrupt = callback.function()});
  const auto ends_in_time = [&](const std::function<void()>& action) {
    callback.throw_at(1);
    const auto began = Clock::now();
    return ended_at(action) == 1 && Clock::now() - began < std::chrono::seconds(3);
  };
  const auto write = [&] {
    database->write([](Connection& connection) { insert(connection, 1); });
  };
  CHECK(ends_in_time([&] { database->reader()->query(endless).step(); }));
  {
    sqlite::LockFile of_other_process(folder / "a.db", sqlite::LockFile::Purpose::write, false);
    const sqlite::LockGuard guard(of_other_process, Clock::now());
    CHECK(ends_in_time(write));
  }
  {
    sqlite::SqliteConnection other_program(folder / "a.db", SQLITE_OPEN_READWRITE);
    other_program.execute("BEGIN IMMEDIATE");
    CHECK(ends_in_time(write));
  }
  database->write([&](Connection&) {
    std::jthread([&] { CHECK(ends_in_time(write)); }).join();  // queued after this one
  });
  CHECK(count(*database->reader()) == 0);
}

TEST_CASE("many short statements of a load are interrupted like one long statement") {
  Callback callback;
  const auto database =
      sqlite::open("", {.is_temporary = true, .check_interrupt = callback.function()});
  callback.throw_at(1);
  CHECK(ended_at([&] {
          database->write_bulk([](Connection& connection) {
            for (std::int64_t key = 1;; ++key) insert(connection, key);
            return true;
          });
        }) == 1);
}

TEST_CASE("an exception of the callback ends a check") {
  Callback callback;
  const auto database =
      sqlite::open("", {.is_temporary = true, .check_interrupt = callback.function()});
  fill(*database);
  callback.throw_at(1);
  bool is_ended = false;
  // A check of a small store may end before the first call.
  for (int round = 0; round < 1000 && !is_ended; ++round) {
    is_ended = ended_at([&] { database->health(); }) == 1;
  }
  CHECK(is_ended);
  CHECK(database->health().findings.empty());
}

TEST_CASE("an exception of the callback ends a backup, which leaves no file") {
  Callback callback;
  const Folder folder;
  const Folder copies;
  const auto database = sqlite::open(folder / "a.db", {.check_interrupt = callback.function()});
  fill(*database);
  callback.throw_at(1);
  bool is_ended = false;
  for (int round = 0; round < 1000 && !is_ended; ++round) {
    is_ended = ended_at([&] { database->backup(copies / std::to_string(round), {}); }) == 1;
  }
  CHECK(is_ended);
  for (const std::string& name : copies.names()) CHECK(name.find('.') == std::string::npos);
}

TEST_CASE("closing a database ends running and waiting work, and finishes writes") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  std::counting_semaphore<> running(0);
  std::vector<std::string> refusals(4);
  {
    std::vector<std::jthread> threads;
    threads.emplace_back([&] {
      refusals[0] = refusal([&] {
        database->write_bulk([&](Connection& connection) {
          running.release();
          connection.query(endless).step();
          return true;
        });
      });
    });
    running.acquire();
    threads.emplace_back([&] {
      running.release();
      refusals[1] = refusal([&] {
        const Lease reader = database->reader();
        reader->query(endless).step();
      });
    });
    threads.emplace_back([&] {
      running.release();
      refusals[2] =
          refusal([&] { database->write([](Connection& connection) { insert(connection, 1); }); });
    });
    running.acquire();
    running.acquire();
    database->interrupt();
  }
  CHECK(refusals[0] == "the service is closed");
  CHECK(refusals[1] == "the service is closed");
  // It was queued when the load ended, so both outcomes are correct.
  CHECK((refusals[2].empty() || refusals[2] == "the service is closed"));
}

TEST_CASE("interrupting one write does not undo another") {
  Callback callback;
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {.check_interrupt = callback.function()});
  std::binary_semaphore is_held(0);
  std::binary_semaphore may_end(0);
  std::jthread holder([&] {
    database->write([&](Connection&) {
      is_held.release();
      may_end.acquire();
    });
  });
  is_held.acquire();
  std::atomic<int> stopped = 0;
  {
    std::vector<std::jthread> threads;
    callback.throw_at(1);
    for (std::int64_t key = 1; key <= 4; ++key) {
      threads.emplace_back([&, key] {
        stopped += ended_at(
            [&] { database->write([key](Connection& connection) { insert(connection, key); }); });
      });
    }
    while (stopped == 0) std::this_thread::yield();
    may_end.release();
  }
  holder.join();
  CHECK(stopped == 1);
  CHECK(count(*database->reader()) == 3);
}

}  // namespace
}  // namespace comptroller::db
