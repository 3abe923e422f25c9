#include "db/postgresql/shared_symbols.hpp"

#include <doctest/doctest.h>

#include "db/postgresql/connection.hpp"
#include "postgresql_server.hpp"

namespace comptroller::db::postgresql {
namespace {

constexpr std::int64_t server = 1;

TEST_CASE(
    "texts looked up together are stored or absent, also when the cache is emptied meanwhile") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  const auto connect = [&] {
    return std::make_unique<PostgresqlConnection>(database.connect(), nullptr);
  };
  const auto count = static_cast<std::int64_t>(Symbols::max_cached_symbols);
  connect()
      ->query("INSERT INTO symbols (text) SELECT 'text ' || n FROM generate_series(1, ?) AS n")
      .bind(1, count + 1)
      .run();
  SharedSymbols symbols([&] { return std::pair(connect(), server); });
  symbols.follow(server);
  symbols.fill();
  const std::string not_cached = "text " + std::to_string(count + 1);
  const std::string_view texts[]{"text 5", not_cached, "absent", "text 6"};
  CHECK(symbols.find_absent(texts) == std::set<std::string_view>{"absent"});
  CHECK(symbols.text(symbols.find("text 5").value()) == "text 5");
}

TEST_CASE("symbols follow their connection to another server, whose texts may differ") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  const auto connect = [&] {
    return std::make_unique<PostgresqlConnection>(database.connect(), nullptr);
  };
  std::int64_t present = server;
  SharedSymbols symbols([&] { return std::pair(connect(), present); });
  symbols.follow(server);
  const std::int64_t key = symbols.intern("text");
  CHECK(symbols.text(key) == "text");
  const std::int64_t generation = symbols.generation();
  symbols.follow(server + 1);  // by another connection; then the first server is back
  CHECK_THROWS_AS(symbols.text(key), Lost);
  CHECK(symbols.is_of(server));
  CHECK(symbols.generation() > generation);
  CHECK(symbols.text(key) == "text");
}

}  // namespace
}  // namespace comptroller::db::postgresql
