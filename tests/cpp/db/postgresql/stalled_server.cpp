// A server that does not answer: requests are interrupted, and their session is not used again.
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <csignal>
#include <map>
#include <mutex>
#include <thread>

#include "allocations.hpp"
#include "db/postgresql/connection.hpp"
#include "model/error.hpp"
#include "postgresql_server.hpp"

namespace comptroller::db::postgresql {
namespace {

constexpr std::int64_t server = 1;

struct Interrupted {};

// An interrupt that throws once after it was raised, as a signal does.
struct Signal {
  std::atomic<bool> is_raised = false;
  Interrupt interrupt{[this] {
    if (is_raised.exchange(false)) throw Interrupted{};
  }};
};

// The server's process of a session, which is stopped until the end of the scope; for at most a
// minute, so that a wait without an end fails the test.
class Stopped {
 public:
  explicit Stopped(const Session& session) : process_(session.process_of_server()) {
    REQUIRE(::kill(process_, SIGSTOP) == 0);
    limit_ = std::jthread([this](const std::stop_token& stop) {
      std::mutex mutex;
      std::condition_variable_any ended;
      std::unique_lock lock(mutex);
      ended.wait_for(lock, stop, std::chrono::minutes(1), [] { return false; });
      ::kill(process_, SIGCONT);
    });
  }

 private:
  pid_t process_;
  std::jthread limit_;
};

void add(Session& session, const std::string& sql) {
  session.add_statement(sql);
}

TEST_CASE("a session whose interrupted request did not end is not used again") {
  if (!server_address()) return;
  const TestDatabase database;
  Signal signal;
  Session session(database.address(), false, signal.interrupt);
  {
    const Stopped stopped(session);
    add(session, "SELECT 1");
    signal.is_raised = true;
    CHECK_THROWS_AS(session.run(), Interrupted);
  }
  CHECK(session.is_broken());
  CHECK_THROWS_AS(add(session, "SELECT 2"), Lost);
  CHECK_THROWS_AS(session.run(), Lost);
  CHECK_THROWS_AS(session.send(), Lost);
  CHECK_THROWS_AS(session.run_script("SELECT 3"), Lost);
}

TEST_CASE("an interrupt ends a wait for the end of the transaction before") {
  if (!server_address()) return;
  const TestDatabase database;
  for (const bool is_in_pipeline : {true, false}) {
    CAPTURE(is_in_pipeline);
    Signal signal;
    Session session(database.address(), false, signal.interrupt);
    const Stopped stopped(session);
    add(session, "ROLLBACK");
    session.send();
    signal.is_raised = true;
    if (is_in_pipeline) {
      add(session, "SELECT 1");
      CHECK_THROWS_AS(session.run(), Interrupted);
    } else {
      CHECK_THROWS_AS(session.run_script("SELECT 1"), Interrupted);
    }
    CHECK(session.is_broken());
  }
}

TEST_CASE("an interrupted lookup leaves no key of another text") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  Signal signal;
  const Session* session = nullptr;
  SharedSymbols symbols(
      [&] {
        auto connection = std::make_unique<PostgresqlConnection>(
            std::make_unique<Session>(database.address(), false, signal.interrupt), nullptr);
        session = &connection->session();
        return std::pair(std::move(connection), server);
      },
      signal.interrupt, std::chrono::seconds(30));
  symbols.fill();
  PostgresqlConnection other(database.connect(), nullptr);
  std::map<std::string, std::int64_t> keys;
  for (const char* text : {"first", "second", "third"}) {
    keys[text] = other.query("INSERT INTO symbols (text) VALUES (?)")
                     .bind(1, std::string_view(text))
                     .insert()
                     .value();
  }
  CHECK(symbols.find("first", server) == keys["first"]);
  {
    const Stopped stopped(*session);
    signal.is_raised = true;
    CHECK_THROWS_AS(symbols.find("second", server), Interrupted);
  }
  CHECK(symbols.find("third", server) == keys["third"]);
  CHECK(symbols.find("second", server) == keys["second"]);
  CHECK(symbols.text(keys["first"], server) == "first");
}

TEST_CASE("an undone transaction consumes no interrupt") {
  if (!server_address()) return;
  const TestDatabase database;
  Signal signal;
  PostgresqlConnection connection(
      std::make_unique<Session>(database.address(), false, signal.interrupt), nullptr);
  const auto wait = [](Session& session) { session.add_statement("SELECT pg_sleep(0.5)"); };
  connection.begin_snapshot();
  connection.add_later(wait);
  signal.is_raised = true;
  connection.roll_back();
  CHECK(signal.is_raised);
  CHECK_FALSE(connection.session().is_broken());
  signal.is_raised = false;
  connection.begin_snapshot();
  CHECK_THROWS_AS(connection.exchange([&](Session& session) {
    wait(session);
    signal.is_raised = true;
    throw Error(Code::internal, "the first failure");
  }),
                  Error);
  CHECK(signal.is_raised);
  signal.is_raised = false;
  connection.roll_back();
  CHECK(numbers_of(connection.exchange([](Session& session) {
          session.add_statement("SELECT 7");
        })) == std::vector<std::int64_t>{7});
}

TEST_CASE("a transaction that is undone waits for a stalled server only for a time") {
  if (!server_address()) return;
  const TestDatabase database;
  PostgresqlConnection connection(database.connect(), nullptr);
  connection.begin_snapshot();
  connection.add_later([](Session& session) { session.add_statement("SELECT 1"); });
  {
    const Stopped stopped(connection.session());
    connection.roll_back();
  }
  CHECK(connection.session().is_broken());
}

TEST_CASE("after memory ran out, a request gets no result of another one") {
  if (!server_address()) return;
  const TestDatabase database;
  bool has_failed = true;
  for (int failing = 1; has_failed; ++failing) {
    PostgresqlConnection connection(database.connect(), nullptr);
    has_failed = false;
    try {
      const FailingAllocations scope(failing);
      connection.exchange_all([](Session& session) {
        for (int request = 0; request < 8; ++request) session.add_statement("SELECT 1");
      });
    } catch (const std::bad_alloc&) {
      has_failed = true;
    }
    CAPTURE(failing);
    try {
      const Result result =
          connection.exchange([](Session& session) { session.add_statement("SELECT 7"); });
      CHECK(numbers_of(result) == std::vector<std::int64_t>{7});
    } catch (const Lost&) {
      CHECK(has_failed);
    }
  }
}

}  // namespace
}  // namespace comptroller::db::postgresql
