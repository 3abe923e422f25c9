#include "db/sqlite/lock_file.hpp"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <semaphore>
#include <thread>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

using Clock = std::chrono::steady_clock;
using Purpose = sqlite::LockFile::Purpose;

std::int64_t count(Database& database) {
  const Lease reader = database.reader();
  Query query = reader->query("SELECT count(*) FROM customers");
  query.step();
  return query.column(0).integer;
}

void insert(Database& database, std::int64_t key) {
  database.write([&](Connection& connection) {
    connection.query("INSERT INTO customers (key) VALUES (?)").bind(1, Value::of(key)).run();
  });
}

bool is_refused(Database& database) {
  try {
    insert(database, 1);
    return false;
  } catch (const Error& error) {
    CHECK(error.code() == Code::unavailable);
    return true;
  }
}

TEST_CASE("a lock has one holder, also within one process") {
  const Folder folder;
  sqlite::LockFile first(folder / "lock", Purpose::write, false);
  sqlite::LockFile second(folder / "lock", Purpose::write, false);
  {
    const sqlite::LockGuard hold(first, Clock::now());
    CHECK(hold.is_held());
    CHECK_FALSE(sqlite::LockGuard(second, std::try_to_lock).is_held());
    try {
      const sqlite::LockGuard other(second, Clock::now());
      FAIL("two holders");
    } catch (const Error& error) {
      CHECK(error.code() == Code::unavailable);
    }
  }
  CHECK(sqlite::LockGuard(second, std::try_to_lock).is_held());
}

TEST_CASE("a lock has one holder among the threads of one database") {
  const Folder folder;
  sqlite::LockFile lock(folder / "lock", Purpose::write, false);
  const sqlite::LockGuard hold(lock, Clock::now());
  std::jthread other([&] { CHECK_FALSE(sqlite::LockGuard(lock, std::try_to_lock).is_held()); });
}

TEST_CASE("a lock that is released in time is awaited") {
  const Folder folder;
  sqlite::LockFile first(folder / "lock", Purpose::write, false);
  sqlite::LockFile second(folder / "lock", Purpose::write, false);
  auto hold = std::make_unique<sqlite::LockGuard>(first, Clock::now());
  std::jthread waiting([&] {
    const sqlite::LockGuard other(second, Clock::now() + std::chrono::seconds(30));
    CHECK(other.is_held());
  });
  hold.reset();
}

TEST_CASE("a lock is free when its holder has died") {
  const Folder folder;
  sqlite::LockFile mine(folder / "lock", Purpose::write, false);
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    sqlite::LockFile its(folder / "lock", Purpose::write, false);
    auto* hold = new sqlite::LockGuard(its, Clock::now() + std::chrono::seconds(30));
    const char is_held = hold->is_held() ? 'y' : 'n';
    if (::write(ready[1], &is_held, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  char is_held = 'n';
  REQUIRE(::read(ready[0], &is_held, 1) == 1);
  CHECK(is_held == 'y');
  CHECK_FALSE(sqlite::LockGuard(mine, std::try_to_lock).is_held());
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(sqlite::LockGuard(mine, std::try_to_lock).is_held());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock is free when its holder has died and a forked child of it lives") {
  const Folder folder;
  sqlite::LockFile mine(folder / "lock", Purpose::write, false);
  int ready[2];
  int alive[2];
  REQUIRE(::pipe(ready) == 0);
  REQUIRE(::pipe(alive) == 0);
  const pid_t holder = ::fork();
  if (holder == 0) {
    sqlite::LockFile its(folder / "lock", Purpose::write, false);
    const sqlite::LockGuard guard(its, Clock::now() + std::chrono::seconds(30));
    char message = 'c';
    if (::fork() == 0) {  // idle until the test ends
      ::close(alive[1]);
      if (::write(ready[1], &message, 1) != 1) ::_exit(1);
      ::_exit(::read(alive[0], &message, 1) == 0 ? 0 : 1);
    }
    message = guard.is_held() ? 'h' : 'n';
    if (::write(ready[1], &message, 1) != 1) ::_exit(1);
    ::pause();
    ::_exit(0);
  }
  std::string messages;
  for (char message = 0; messages.size() < 2; messages += message) {
    REQUIRE(::read(ready[0], &message, 1) == 1);
  }
  CHECK(messages.find('h') != std::string::npos);
  // The child has closed its copy of the descriptor, and the parent still holds the lock.
  CHECK_FALSE(sqlite::LockGuard(mine, std::try_to_lock).is_held());
  ::kill(holder, SIGKILL);
  ::waitpid(holder, nullptr, 0);
  CHECK(sqlite::LockGuard(mine, std::try_to_lock).is_held());
  for (const int descriptor : {ready[0], ready[1], alive[0], alive[1]}) ::close(descriptor);
}

TEST_CASE("a forked child can lock a file that its parent does not hold") {
  const Folder folder;
  sqlite::LockFile lock(folder / "lock", Purpose::write, false);
  const pid_t child = ::fork();
  if (child == 0) ::_exit(sqlite::LockGuard(lock, std::try_to_lock).is_held() ? 0 : 1);
  int status = 1;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(sqlite::LockGuard(lock, std::try_to_lock).is_held());
}

#ifndef NDEBUG
TEST_CASE("waiting for a lock while holding an opening lock fails an assertion") {
  const Folder folder;
  sqlite::LockFile write_lock(folder / "write", Purpose::write, false);
  sqlite::LockFile opening_lock(folder / "opening", Purpose::opening, false);
  {
    const sqlite::LockGuard first(write_lock, Clock::now());
    const sqlite::LockGuard second(opening_lock, Clock::now());
  }
  {
    const sqlite::LockGuard first(opening_lock, Clock::now());
    CHECK(sqlite::LockGuard(write_lock, std::try_to_lock).is_held());
  }
  const pid_t child = ::fork();
  if (child == 0) {
    ::close(STDERR_FILENO);
    ::signal(SIGABRT, SIG_DFL);
    const sqlite::LockGuard first(opening_lock, Clock::now());
    const sqlite::LockGuard second(write_lock, Clock::now());
    ::_exit(0);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(WIFSIGNALED(status));
}
#endif

TEST_CASE("a lock file that cannot be created is an error, unless it is optional") {
  const Folder folder;
  CHECK_THROWS_AS(sqlite::LockFile(folder / "none/lock", Purpose::write, false), Error);
  sqlite::LockFile none(folder / "none/lock", Purpose::write, true);
  CHECK_NOTHROW(sqlite::LockGuard(none, Clock::now()));
  CHECK(folder.names().empty());
  sqlite::LockFile later(folder / "lock", Purpose::write, true);
  CHECK(folder.names().empty());
  sqlite::LockFile made(folder / "lock", Purpose::write, false);
  const sqlite::LockGuard hold(made, Clock::now());
  CHECK_FALSE(sqlite::LockGuard(later, std::try_to_lock).is_held());
}

TEST_CASE("two databases on one file in one process see each other's writes") {
  const Folder folder;
  const auto first = sqlite::open(folder / "a.db", {});
  const auto second = sqlite::open(folder / "a.db", {});
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < 8; ++thread) {
      running.emplace_back([&, thread] {
        Database& database = thread % 2 == 0 ? *first : *second;
        for (int i = 0; i < 100; ++i) insert(database, thread * 100 + i + 1);
      });
    }
  }
  CHECK(count(*first) == 800);
  CHECK(count(*second) == 800);
  CHECK(first->health().findings.empty());
}

TEST_CASE("many threads open, write and close a file at once") {
  const Folder folder;
  {
    std::vector<std::jthread> running;
    for (int thread = 0; thread < 8; ++thread) {
      running.emplace_back([&, thread] {
        for (int i = 0; i < 15; ++i) {
          const auto database = sqlite::open(folder / "a.db", {});
          insert(*database, thread * 100 + i + 1);
        }
      });
    }
  }
  const auto database = sqlite::open(folder / "a.db", {});
  CHECK(count(*database) == 8 * 15);
  CHECK(database->health().findings.empty());
}

TEST_CASE("one time limit covers all waits of a write") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {.max_wait = std::chrono::seconds(0)});
  {
    sqlite::LockFile lock(folder / "a.db", Purpose::write, false);
    const sqlite::LockGuard guard(lock, Clock::now());
    CHECK(is_refused(*database));
  }
  {
    sqlite::SqliteConnection other_program(folder / "a.db", SQLITE_OPEN_READWRITE);
    other_program.execute("BEGIN IMMEDIATE");
    CHECK(is_refused(*database));
  }
  database->write([&](Connection&) {
    std::jthread([&] { CHECK(is_refused(*database)); }).join();  // queued after this one
  });
  insert(*database, 1);
  CHECK(count(*database) == 1);
}

TEST_CASE("the time in the queue is part of the limit of a write") {
  const Folder folder;
  std::counting_semaphore<> tenths(0);  // of a second in which the first write waits for the lock
  const auto database = sqlite::open(folder / "a.db", {.check_interrupt = [&] { tenths.release(); },
                                                       .max_wait = std::chrono::seconds(3)});
  sqlite::LockFile of_other_process(folder / "a.db", Purpose::write, false);
  const sqlite::LockGuard guard(of_other_process, Clock::now());
  std::jthread first([&] { CHECK(is_refused(*database)); });
  for (int tenth = 0; tenth < 3; ++tenth) tenths.acquire();
  // Waits for the first for 2.7 s, then for the lock.
  const auto began = Clock::now();
  CHECK(is_refused(*database));
  const auto waited = Clock::now() - began;
  CHECK(waited >= std::chrono::seconds(3));
  CHECK(waited < std::chrono::milliseconds(5'500));
}

TEST_CASE("a bulk write does not delay opening, reading and closing") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  insert(*database, 1);
  database->write_bulk([&](Connection& connection) {
    connection.execute("INSERT INTO customers (key) VALUES (2)");
    const auto began = Clock::now();
    const auto other = sqlite::open(folder / "a.db", {});
    CHECK(count(*other) == 1);
    CHECK(count(*sqlite::open(folder / "a.db", {.read_only = true})) == 1);
    CHECK(other->readers_of_one_snapshot(2).size() == 2);
    CHECK(Clock::now() - began < std::chrono::seconds(10));
    return true;
  });
  CHECK(count(*database) == 2);
}

TEST_CASE("a process that opens the file does not delay writing and reading") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {.max_wait = std::chrono::seconds(0)});
  sqlite::LockFile opening(folder / "a.db", Purpose::opening, false);
  std::jthread([&] {
    const sqlite::LockGuard guard(opening, Clock::now());
    std::jthread([&] {
      insert(*database, 1);
      CHECK(database->readers_of_one_snapshot(2).size() == 2);
    }).join();
  }).join();
  CHECK(count(*database) == 1);
}

TEST_CASE("processes that write one file at once see all writes") {
  const Folder folder;
  sqlite::open(folder / "a.db", {}).reset();
  constexpr int processes = 4;
  std::vector<pid_t> children;
  for (int process = 0; process < processes; ++process) {
    const pid_t child = ::fork();
    if (child == 0) {
      int result = 1;
      try {
        for (int round = 0; round < 5; ++round) {
          const auto database = sqlite::open(folder / "a.db", {});
          for (int i = 0; i < 20; ++i) insert(*database, process * 1000 + round * 100 + i + 1);
        }
        result = 0;
      } catch (const std::exception&) {
        result = 2;
      }
      ::_exit(result);
    }
    children.push_back(child);
  }
  for (const pid_t child : children) {
    int status = 1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0);
  }
  const auto database = sqlite::open(folder / "a.db", {});
  CHECK(count(*database) == processes * 100);
  CHECK(database->health().findings.empty());
}

TEST_CASE("a backup is a store of one snapshot, and never replaces a file") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  for (int key = 1; key <= 50; ++key) insert(*database, key);
  {
    std::jthread writing([&](const std::stop_token& stop) {
      for (int key = 51; key <= 150 && !stop.stop_requested(); ++key) insert(*database, key);
    });
    database->backup(folder / "copy.db", {});
  }
  const auto copy = sqlite::open(folder / "copy.db", {.read_only = true});
  CHECK(count(*copy) >= 50);
  CHECK(copy->health().findings.empty());
  CHECK(folder.names() == std::set<std::string>{"a.db", "a.db-opening-lock", "a.db-lock",
                                                "a.db-shm", "a.db-wal", "copy.db", "copy.db-shm",
                                                "copy.db-wal"});
  for (const std::string& path : {folder / "copy.db", folder / "a.db", folder / "none/b.db"}) {
    CHECK_THROWS_AS(database->backup(path, {}), Error);
  }
  CHECK_THROWS_AS(database->backup("", {}), Error);
}

}  // namespace
}  // namespace comptroller::db
