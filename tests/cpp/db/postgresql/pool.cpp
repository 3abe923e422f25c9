#include "db/postgresql/pool.hpp"

#include <doctest/doctest.h>

#include <functional>

#include "model/error.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::refusal_of;
using std::chrono::seconds;

TEST_CASE("a wait that ends just as it gets a connection leaves the connection to others") {
  if (!server_address()) return;
  const TestDatabase database;
  std::function<void()> end_wait;
  const Interrupt interrupt([&] { end_wait(); });
  const auto connect = [&] {
    return std::make_unique<PostgresqlConnection>(database.connect(), nullptr);
  };
  Pool pool(connect, [](PostgresqlConnection&) {}, 1, interrupt);
  Pool::Borrowed lent = pool.lend(Clock::now());
  end_wait = [&] {
    lent.reset();
    throw Error(Code::closed, "given up");
  };
  CHECK(refusal_of([&] { pool.lend(Clock::now() + seconds(60)); }).detail == "given up");
  CHECK(pool.lend(Clock::now()) != nullptr);
}

}  // namespace
}  // namespace comptroller::db::postgresql
