#include "db/postgresql/shared_symbols.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <future>

#include "db/postgresql/connection.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::db::postgresql {
namespace {

using service::refusal_of;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr std::int64_t server = 1;
const Interrupt no_interrupt{{}};

// The shared symbols of a new store.
struct Store {
  explicit Store(milliseconds max_wait = seconds(30), bool is_pooled = false)
      : symbols(
            [this, max_wait, is_pooled] {
              auto connection = connect();
              if (is_pooled) connection->set_behind_pooler();
              connection->limit_statements(max_wait);
              return std::pair(std::move(connection), present);
            },
            no_interrupt, max_wait) {
    database.open();
    symbols.follow(server);
    symbols.fill();
  }

  std::unique_ptr<PostgresqlConnection> connect() const {
    return std::make_unique<PostgresqlConnection>(database.connect(), nullptr);
  }
  // Runs `action` while a lookup of a text, by another thread, waits for a lock; returns the
  // failure of the lookup.
  template <class Action>
  service::Refusal beside_lookup(std::string_view text, const Action& action) {
    const auto other = connect();
    other->execute("BEGIN");
    other->execute("LOCK TABLE symbols IN ACCESS EXCLUSIVE MODE");
    auto lookup = std::async(std::launch::async,
                             [&, text] { return refusal_of([&] { symbols.find(text, server); }); });
    const auto is_waiting = [&] {
      return other
          ->query("SELECT 1 FROM pg_locks WHERE relation = to_regclass('symbols') AND NOT granted")
          .step();
    };
    while (!is_waiting()) {
      REQUIRE(lookup.wait_for(std::chrono::milliseconds(10)) == std::future_status::timeout);
    }
    action();
    other->execute("ROLLBACK");
    return lookup.get();
  }

  TestDatabase database;
  std::int64_t present = server;
  SharedSymbols symbols;
};

TEST_CASE(
    "texts looked up together are stored or absent, also when the cache is emptied meanwhile") {
  if (!server_address()) return;
  Store store;
  const auto count = static_cast<std::int64_t>(Symbols::max_cached_symbols);
  store.connect()
      ->query("INSERT INTO symbols (text) SELECT 'text ' || n FROM generate_series(1, ?) AS n")
      .bind(1, count + 1)
      .run();
  store.symbols.fill();
  const std::string not_cached = "text " + std::to_string(count + 1);
  const std::string_view texts[]{"text 5", not_cached, "absent", "text 6"};
  CHECK(store.symbols.find_absent(texts, server) == std::set<std::string_view>{"absent"});
  CHECK(store.symbols.text(store.symbols.find("text 5", server).value(), server) == "text 5");
}

TEST_CASE("symbols follow their connection to another server, whose texts may differ") {
  if (!server_address()) return;
  Store store;
  SharedSymbols& symbols = store.symbols;
  const std::int64_t key = symbols.intern("text", server);
  CHECK(symbols.text(key, server) == "text");
  const std::int64_t generation = symbols.generation();
  symbols.follow(server + 1);  // by another connection; then the first server is back
  CHECK_THROWS_AS(symbols.text(key, server + 1), Lost);
  CHECK(symbols.is_of(server));
  CHECK(symbols.generation() > generation);
  CHECK(symbols.text(key, server) == "text");
}

TEST_CASE("a connection to another server than that of the symbols gets none of them") {
  if (!server_address()) return;
  Store store;
  SharedSymbols& symbols = store.symbols;
  const std::int64_t key = symbols.intern("text", server);
  const std::string_view texts[]{"text"};
  CHECK_THROWS_AS(symbols.text(key, server + 1), Lost);
  CHECK_THROWS_AS(symbols.find("text", server + 1), Lost);
  CHECK_THROWS_AS(symbols.intern("new", server + 1), Lost);
  CHECK_THROWS_AS(symbols.find_absent(texts, server + 1), Lost);
  CHECK_THROWS_AS(symbols.intern_many(texts, server + 1), Lost);
}

TEST_CASE("while a lookup waits for a lock, cached texts are found, and another server followed") {
  if (!server_address()) return;
  Store store;
  const std::int64_t key = store.symbols.intern("text", server);
  const auto refusal = store.beside_lookup("absent", [&] {
    CHECK(store.symbols.find("text", server) == key);
    CHECK(store.symbols.text(key, server) == "text");
    store.symbols.follow(server + 1);
  });
  CHECK(refusal.detail.find("was replaced") != std::string::npos);
}

TEST_CASE("waits for a lock on the symbols end, also those behind another lookup") {
  if (!server_address()) return;
  for (const bool is_pooled : {false, true}) {
    CAPTURE(is_pooled);
    Store store(milliseconds(500), is_pooled);
    const std::int64_t key = store.symbols.intern("text", server);
    service::Refusal second;
    const auto first = store.beside_lookup(
        "absent", [&] { second = refusal_of([&] { store.symbols.intern("new", server); }); });
    CHECK(first.code == "unavailable");
    CHECK(second.code == "unavailable");
    CHECK(store.symbols.intern("new", server) > key);
  }
}

}  // namespace
}  // namespace comptroller::db::postgresql
