#include "service/background_work.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <latch>

#include "db/sqlite/database.hpp"
#include "model/error.hpp"
#include "postgresql_server.hpp"

namespace comptroller::service {
namespace {

TEST_CASE("steps run until no work remains, and again after the next start") {
  const auto database = db::sqlite::open("", {.is_temporary = true});
  std::atomic<int> steps = 0;
  std::latch first(1);
  std::latch second(1);
  BackgroundWork work(*database, [&](db::Connection&) {
    const int step = ++steps;
    if (step == 3) first.count_down();
    if (step == 4) second.count_down();
    return step < 3;
  });
  CHECK(steps == 0);
  work.start();
  first.wait();
  work.start();
  second.wait();
  work.stop();
  CHECK(steps == 4);
}

TEST_CASE("a step that a bulk write prevents runs after it") {
  if (!db::postgresql::server_address()) return;
  const db::postgresql::TestDatabase made;
  const auto database = made.open();
  std::atomic<int> steps = 0;
  std::latch done(1);
  BackgroundWork work(*database, [&](db::Connection&) {
    ++steps;
    done.count_down();
    return false;
  });
  database->write_bulk([&](db::Connection&) {
    work.start();
    CHECK(work.has_work());
    return true;
  });
  done.wait();
  work.stop();
  CHECK(steps == 1);
}

TEST_CASE("a failed step is undone and retried") {
  const auto database = db::sqlite::open("", {.is_temporary = true});
  std::atomic<int> steps = 0;
  std::latch done(1);
  BackgroundWork work(*database, [&](db::Connection& connection) {
    connection.execute("INSERT INTO symbols (text) VALUES ('step" + std::to_string(++steps) + "')");
    if (steps == 1) throw Error(Code::unavailable, "the disk is full");
    done.count_down();
    return false;
  });
  work.start();
  done.wait();
  work.stop();
  const db::Lease reader = database->reader();
  db::Query query = reader->query("SELECT text FROM symbols WHERE text LIKE 'step%'");
  REQUIRE(query.step());
  CHECK(query.column(0).bytes == "step2");
  CHECK_FALSE(query.step());
}

TEST_CASE("stopped work never starts, and its thread stops waiting") {
  const auto database = db::sqlite::open("", {.is_temporary = true});
  CHECK_FALSE(BackgroundWork::is_this_thread());
  std::latch began(1);
  std::atomic<bool> is_refused = false;
  std::latch stopping(1);
  BackgroundWork work(*database, [&](db::Connection&) {
    CHECK(BackgroundWork::is_this_thread());
    began.count_down();
    stopping.wait();
    while (!is_refused) {
      try {
        BackgroundWork::is_this_thread();
        std::this_thread::yield();
      } catch (const Error&) {
        is_refused = true;
      }
    }
    return true;
  });
  work.start();
  began.wait();
  stopping.count_down();
  work.stop();
  CHECK(is_refused);
  work.start();
  work.stop();
}

}  // namespace
}  // namespace comptroller::service
