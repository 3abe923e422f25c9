#include "db/postgresql/shared_symbols.hpp"

#include <doctest/doctest.h>

#include "db/postgresql/connection.hpp"
#include "postgresql_server.hpp"

namespace comptroller::db::postgresql {
namespace {

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
  SharedSymbols symbols(connect);
  symbols.fill();
  const std::string not_cached = "text " + std::to_string(count + 1);
  const std::string_view texts[]{"text 5", not_cached, "absent", "text 6"};
  CHECK(symbols.find_absent(texts) == std::set<std::string_view>{"absent"});
  CHECK(symbols.text(symbols.find("text 5").value()) == "text 5");
}

}  // namespace
}  // namespace comptroller::db::postgresql
