#include <doctest/doctest.h>

#include <atomic>
#include <future>
#include <semaphore>
#include <thread>

#include "db/folder.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"
#include "threads.hpp"

namespace comptroller::db {
namespace {

void insert(Connection& connection, std::int64_t key) {
  connection.query("INSERT INTO customers (key) VALUES (?)").bind(1, Value::of(key)).run();
}

std::int64_t count(Database& database) {
  const Lease reader = database.reader();
  Query query = reader->query("SELECT count(*) FROM customers");
  query.step();
  return query.column(0).integer;
}

bool exists(Database& database, std::int64_t key) {
  const Lease reader = database.reader();
  return reader->query("SELECT 1 FROM customers WHERE key = ?").bind(1, Value::of(key)).step();
}

// Queues a write; the future throws its exception.
std::future<void> write_later(Database& database, std::function<void(Connection&)> work) {
  const auto outcome = std::make_shared<std::promise<void>>();
  std::future<void> done = outcome->get_future();
  database.write_later(std::move(work), [outcome](const std::exception_ptr& failure) {
    failure ? outcome->set_exception(failure) : outcome->set_value();
  });
  return done;
}

// Keeps the writer busy until `end` is called.
class BusyWriter {
 public:
  explicit BusyWriter(Database& database)
      : thread_([this, &database] {
          database.write([this](Connection&) {
            begun_.release();
            ends_.acquire();
          });
        }) {
    begun_.acquire();
  }
  void end() {
    ends_.release();
    thread_.join();
  }

 private:
  std::binary_semaphore begun_{0};
  std::binary_semaphore ends_{0};
  std::jthread thread_;
};

TEST_CASE("a write without a waiting thread is durable when it is reported") {
  const auto database = sqlite::open("", {.is_temporary = true});
  for (std::int64_t key = 1; key <= 100; ++key) {
    write_later(*database, [key](Connection& connection) { insert(connection, key); }).get();
    CHECK(exists(*database, key));
  }
  CHECK(database->commits().writes == 100);
}

TEST_CASE("a write is reported before its commit leads to a checkpoint") {
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto database = sqlite::open(path, {});
  const auto size = [&] { return std::filesystem::file_size(path); };
  const auto before = size();
  std::promise<std::uintmax_t> reported;
  const auto fill = [](Connection& connection) {
    connection.execute(
        "CREATE TABLE large AS WITH RECURSIVE numbers (number) AS (SELECT 1 UNION ALL"
        " SELECT number + 1 FROM numbers LIMIT 5000) SELECT zeroblob(4000) FROM numbers");
  };
  database->write_later(fill, [&](const std::exception_ptr&) { reported.set_value(size()); });
  CHECK(reported.get_future().get() == before);
  database->write([](Connection& connection) { insert(connection, 1); });
  CHECK(size() > before);
}

TEST_CASE("writes of both kinds share a queue and commits") {
  const auto database = sqlite::open("", {.is_temporary = true});
  constexpr int threads = 16;
  constexpr int writes_of_each = 200;
  std::atomic<int> unseen = 0;
  in_threads(threads, [&](int thread) {
    std::vector<std::future<void>> queued;
    for (int i = 0; i < writes_of_each; ++i) {
      const std::int64_t key = thread * writes_of_each + i + 1;
      const auto work = [key](Connection& connection) { insert(connection, key); };
      if (thread % 2 == 0) {
        queued.push_back(write_later(*database, work));
      } else {
        database->write(work);
        if (!exists(*database, key)) ++unseen;
      }
    }
    for (std::future<void>& each : queued) each.get();
  });
  CHECK(unseen == 0);
  CHECK(count(*database) == threads * writes_of_each);
  CHECK(database->commits().writes == threads * writes_of_each);
  CHECK(database->commits().by_size.front() < threads * writes_of_each);
}

TEST_CASE("writes queued during a commit are committed together") {
  const auto database = sqlite::open("", {.is_temporary = true});
  BusyWriter busy(*database);
  std::vector<std::future<void>> queued;
  for (std::int64_t key = 1; key <= 200; ++key) {
    queued.push_back(
        write_later(*database, [key](Connection& connection) { insert(connection, key); }));
  }
  busy.end();
  for (std::future<void>& each : queued) each.get();
  const Commits commits = database->commits();
  CHECK(commits.by_size[0] == 1);  // the write that kept the writer busy
  CHECK(commits.by_size[8] == 1);
}

TEST_CASE("failed queued work is undone alone and its exception reported") {
  const auto database = sqlite::open("", {.is_temporary = true});
  BusyWriter busy(*database);
  auto kept = write_later(*database, [](Connection& connection) { insert(connection, 1); });
  auto failed = write_later(*database, [](Connection& connection) {
    insert(connection, 2);
    throw Error(Code::not_found, "two");
  });
  auto also_kept = write_later(*database, [](Connection& connection) { insert(connection, 3); });
  busy.end();
  kept.get();
  CHECK_THROWS_WITH_AS(failed.get(), "two", Error);
  also_kept.get();
  CHECK(count(*database) == 2);
}

TEST_CASE("queued work cannot start a write") {
  const auto database = sqlite::open("", {.is_temporary = true});
  auto nested = write_later(*database, [&](Connection&) { database->write([](Connection&) {}); });
  CHECK_THROWS_WITH_AS(nested.get(), "this thread is writing; write once that has ended", Error);
}

TEST_CASE("a queued write ends when it waits too long for the writer") {
  const auto database =
      sqlite::open("", {.is_temporary = true, .max_wait = std::chrono::milliseconds(50)});
  BusyWriter busy(*database);
  auto late = write_later(*database, [](Connection& connection) { insert(connection, 1); });
  CHECK_THROWS_WITH_AS(late.get(), "the writer is busy; try again later", Error);
  busy.end();
  CHECK(count(*database) == 0);
  write_later(*database, [](Connection& connection) { insert(connection, 2); }).get();
  CHECK(exists(*database, 2));
}

TEST_CASE("closing ends the writes that have not begun, and finishes the others") {
  auto database = sqlite::open("", {.is_temporary = true});
  write_later(*database, [](Connection& connection) { insert(connection, 1); }).get();
  BusyWriter busy(*database);
  auto queued = write_later(*database, [](Connection& connection) { insert(connection, 2); });
  database->interrupt();
  CHECK_THROWS_WITH_AS(queued.get(), "the service is closed", Error);
  busy.end();
  std::vector<std::future<void>> last;
  for (std::int64_t key = 3; key <= 50; ++key) {
    last.push_back(
        write_later(*database, [key](Connection& connection) { insert(connection, key); }));
  }
  database.reset();
  for (std::future<void>& each : last) {
    CHECK(each.wait_for(std::chrono::seconds(0)) == std::future_status::ready);
  }
}

TEST_CASE("closing a database during a commit does not deadlock") {
  for (int round = 0; round < 20; ++round) {
    auto database = sqlite::open("", {.is_temporary = true});
    std::vector<std::future<void>> queued;
    for (std::int64_t key = 1; key <= 600; ++key) {
      queued.push_back(
          write_later(*database, [key](Connection& connection) { insert(connection, key); }));
    }
    queued.front().get();
    database.reset();
    for (std::size_t index = 1; index < queued.size(); ++index) {
      try {
        queued[index].get();
      } catch (const Error& error) {
        CHECK(error.detail() == "the service is closed");
      }
    }
  }
}

TEST_CASE("a queued write waits for a load like other writes") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::future<void> queued;
  database->write_bulk([&](Connection& connection) {
    queued = write_later(*database, [](Connection& each) { insert(each, 2); });
    insert(connection, 1);
    return true;
  });
  queued.get();
  CHECK(count(*database) == 2);
}

}  // namespace
}  // namespace comptroller::db
