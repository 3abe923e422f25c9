#include <doctest/doctest.h>

#include <array>
#include <semaphore>
#include <string>
#include <thread>

#include "allocations.hpp"
#include "db/folder.hpp"
#include "db/sqlite/database.hpp"

namespace comptroller::db {
namespace {

constexpr std::int64_t writers = 6;

void insert(Connection& connection, std::int64_t key) {
  connection.query("INSERT INTO customers (key) VALUES (?)").bind(1, Value::of(key)).run();
}

bool exists(Database& database, std::int64_t key) {
  const Lease reader = database.reader();
  return reader->query("SELECT 1 FROM customers WHERE key = ?").bind(1, Value::of(key)).step();
}

// Runs one batch of several writes, which queue behind a first write that ends when all are queued.
// In the thread that leads the batch, the `failing`th allocation and later ones fail. Returns which
// writes returned without an exception.
std::array<bool, writers> write_a_batch(Database& database, std::int64_t first_key, int failing) {
  std::array<bool, writers> answers{};
  std::binary_semaphore is_held(0);
  std::binary_semaphore may_end(0);
  std::jthread holder([&] {
    database.write([&](Connection&) {
      is_held.release();
      may_end.acquire();
    });
  });
  is_held.acquire();
  {
    std::vector<std::jthread> threads;
    for (std::int64_t writer = 0; writer < writers; ++writer) {
      std::binary_semaphore has_begun(0);
      threads.emplace_back([&, writer] {
        const std::function<void(Connection&)> work = [&, writer](Connection& connection) {
          insert(connection, first_key + writer);
        };
        has_begun.release();
        const FailingAllocations scope(failing);  // affects the thread that leads
        try {
          database.write(work);
          answers[static_cast<std::size_t>(writer)] = true;
        } catch (const std::exception&) {  // after any exception the write must not be stored
          answers[static_cast<std::size_t>(writer)] = false;
        }
      });
      has_begun.acquire();
    }
    may_end.release();
  }
  return answers;
}

TEST_CASE("when memory runs out in a batch, exactly the answered writes are stored") {
  const auto database = sqlite::open("", {.is_temporary = true});
  database->write([](Connection& connection) { insert(connection, 1); });
  std::int64_t first_key = 100;
  int refused = 0;
  for (int failing = 1; failing <= 40; ++failing, first_key += writers) {
    const auto answers = write_a_batch(*database, first_key, failing);
    for (std::int64_t writer = 0; writer < writers; ++writer) {
      const bool is_answered = answers[static_cast<std::size_t>(writer)];
      if (!is_answered) ++refused;
      CAPTURE(failing);
      CHECK(exists(*database, first_key + writer) == is_answered);
    }
    // The writer still works, and no thread is left waiting.
    const std::int64_t next = 10'000 + failing;
    database->write([&](Connection& connection) { insert(connection, next); });
    CHECK(exists(*database, next));
  }
  CHECK(refused > 0);
}

TEST_CASE("connections are returned without memory") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::vector<Lease> leases;
  for (int lease = 0; lease < 5; ++lease) leases.push_back(database->reader());
  {
    const FailingAllocations scope(1);
    leases.clear();
  }
  CHECK(database->reader()->query("SELECT 1").step());
}

TEST_CASE("a hint of an index is complete, although memory ran out before") {
  const auto hint = [](Connection& connection) {
    return std::string(connection.index_hint("claims", "customer_id, created_at", ""));
  };
  const auto database = sqlite::open("", {.is_temporary = true});
  const std::string expected = hint(*database->reader());
  REQUIRE(expected.starts_with(" INDEXED BY "));
  bool has_failed = true;
  for (int failing = 1; has_failed; ++failing) {
    const auto fresh = sqlite::open("", {.is_temporary = true});  // without a known hint
    const Lease reader = fresh->reader();
    has_failed = false;
    try {
      const FailingAllocations scope(failing);
      hint(*reader);
    } catch (const std::exception&) {
      has_failed = true;
    }
    CAPTURE(failing);
    CHECK(hint(*reader) == expected);
  }
}

}  // namespace
}  // namespace comptroller::db
