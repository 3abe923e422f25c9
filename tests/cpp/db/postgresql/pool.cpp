#include "db/postgresql/pool.hpp"

#include <doctest/doctest.h>

#include "model/error.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::refusal_of;
using std::chrono::seconds;

TEST_CASE("who gives up just as he gets a connection leaves it to others") {
  if (!server_address()) return;
  const TestDatabase database;
  Pool::Borrowed lent;
  const Interrupt interrupt([&] {  // is called while somebody waits
    lent.reset();
    throw Error(Code::closed, "given up");
  });
  const auto connect = [&] {
    return std::make_unique<PostgresqlConnection>(database.connect(), nullptr);
  };
  Pool pool(connect, [](PostgresqlConnection&) {}, 1, interrupt);
  lent = pool.lend(Clock::now());
  CHECK(refusal_of([&] { pool.lend(Clock::now() + seconds(60)); }).detail == "given up");
  CHECK(pool.lend(Clock::now()) != nullptr);
}

}  // namespace
}  // namespace comptroller::db::postgresql
