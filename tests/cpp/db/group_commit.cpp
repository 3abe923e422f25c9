#include <doctest/doctest.h>

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <latch>
#include <numeric>
#include <set>
#include <thread>
#include <vector>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"
#include "synchronisations.hpp"
#include "threads.hpp"

namespace comptroller::db {
namespace {

using namespace std::chrono_literals;

constexpr int threads = 16;
constexpr int writes_of_each = 200;

void insert(Connection& connection, std::int64_t key) {
  connection.query("INSERT INTO customers (key) VALUES (?)").bind(1, Value::of(key)).run();
}

std::int64_t count(Database& database, std::string_view table = "customers") {
  const Lease reader = database.reader();
  Query query = reader->query("SELECT count(*) FROM " + std::string(table));
  query.step();
  return query.column(0).integer;
}

TEST_CASE("every answered write is stored and visible to the next reader") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::atomic<int> unseen = 0;
  in_threads(threads, [&](int thread) {
    for (int i = 0; i < writes_of_each; ++i) {
      const std::int64_t key = thread * writes_of_each + i + 1;
      database->write([&](Connection& connection) { insert(connection, key); });
      if (i % 20 != 0) continue;
      const Lease reader = database->reader();
      Query query = reader->query("SELECT 1 FROM customers WHERE key = ?");
      if (!query.bind(1, Value::of(key)).step()) ++unseen;
    }
  });
  CHECK(unseen == 0);
  CHECK(count(*database) == threads * writes_of_each);
}

#ifdef __linux__
TEST_CASE("a write returns after the disk has its commit") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  for (std::int64_t key = 1; key <= 5; ++key) {
    const int before = synchronisations();
    database->write([&](Connection& connection) { insert(connection, key); });
    CHECK(synchronisations() > before);
  }
}
#endif

TEST_CASE("failed work is undone alone and reported to its own caller") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::atomic<int> told = 0;
  std::atomic<int> misled = 0;
  in_threads(threads, [&](int thread) {
    for (int i = 0; i < writes_of_each; ++i) {
      const std::int64_t key = thread * writes_of_each + i + 1;
      const bool fails = key % 3 == 0;
      try {
        database->write([&](Connection& connection) {
          insert(connection, key);
          connection.symbols().intern("symbol " + std::to_string(key));
          if (fails) throw Error(Code::not_found, std::to_string(key));
        });
        if (fails) ++misled;
      } catch (const Error& error) {
        error.detail() == std::to_string(key) && fails ? ++told : ++misled;
      }
    }
  });
  constexpr int all = threads * writes_of_each;
  CHECK(misled == 0);
  CHECK(told == all / 3);
  CHECK(count(*database) == all - all / 3);
  CHECK(count(*database, "symbols") == all - all / 3);
  const Lease reader = database->reader();
  CHECK_FALSE(reader->query("SELECT 1 FROM customers WHERE key % 3 = 0").step());
  CHECK(database->commits().writes == all - all / 3);
}

TEST_CASE("a write inside a write of the same thread is refused immediately") {
  const auto database = sqlite::open("", {.is_temporary = true});
  const auto nested = [&](Connection&) { database->write([](Connection&) {}); };
  CHECK_THROWS_WITH_AS(database->write(nested), "this thread is writing; write once that has ended",
                       Error);
  database->write([](Connection& connection) { insert(connection, 1); });
  CHECK(count(*database) == 1);
}

TEST_CASE("commits are counted by their number of writes") {
  const auto database = sqlite::open("", {.is_temporary = true});
  database->write([](Connection& connection) { insert(connection, 1); });
  CHECK_THROWS_AS(database->write([](Connection&) { throw 42; }), int);
  CHECK(database->commits().by_size == std::array<std::uint64_t, 9>{1});
  in_threads(threads, [&](int thread) {
    database->write([&](Connection& connection) { insert(connection, thread + 2); });
  });
  const Commits commits = database->commits();
  CHECK(commits.writes == 1 + threads);
  const std::uint64_t all =
      std::accumulate(commits.by_size.begin(), commits.by_size.end(), std::uint64_t{0});
  CHECK(all >= 2);
  CHECK(all <= commits.writes);
}

TEST_CASE("an exception of any type is thrown to the caller") {
  const auto database = sqlite::open("", {.is_temporary = true});
  CHECK_THROWS_AS(database->write([](Connection&) { throw std::runtime_error("x"); }),
                  std::runtime_error);
  CHECK_THROWS_AS(database->write([](Connection&) { throw 42; }), int);
  CHECK_THROWS_AS(database->write_bulk([](Connection&) -> bool { throw 42; }), int);
  CHECK_THROWS_AS(database->write([](Connection& c) { c.execute("no SQL"); }), Error);
  database->write([](Connection& connection) { insert(connection, 1); });
  CHECK(count(*database) == 1);
}

TEST_CASE("a symbol that failed work created is created again") {
  const auto database = sqlite::open("", {.is_temporary = true});
  CHECK_THROWS_AS(database->write([](Connection& connection) {
    connection.symbols().intern("word");
    throw Error(Code::not_found, "");
  }),
                  Error);
  std::int64_t key = 0;
  database->write([&](Connection& connection) { key = connection.symbols().intern("word"); });
  const Lease reader = database->reader();
  CHECK(reader->symbols().find("word") == key);
  CHECK(reader->symbols().text(key) == "word");
  CHECK_FALSE(reader->symbols().find("other").has_value());
  CHECK_THROWS_AS(reader->symbols().text(999), Error);
}

TEST_CASE("a symbol of failed work is created again by other work of its commit") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::promise<void> has_begun;
  std::promise<void> may_end;
  std::jthread holding([&] {
    database->write([&](Connection&) {
      has_begun.set_value();
      may_end.get_future().wait();
    });
  });
  has_begun.get_future().wait();
  std::int64_t key = 0;
  std::promise<bool> is_kept;
  database->write_later(
      [](Connection& connection) {
        connection.symbols().intern("word");
        throw Error(Code::not_found, "");
      },
      [](const std::exception_ptr&) {});
  database->write_later([&](Connection& connection) { key = connection.symbols().intern("word"); },
                        [&](const std::exception_ptr& failure) { is_kept.set_value(!failure); });
  may_end.set_value();
  CHECK(is_kept.get_future().get());
  CHECK(database->reader()->symbols().find("word") == key);
}

// Runs works in one commit; returns how often each ran.
std::vector<int> runs_in_one_commit(Database& database,
                                    const std::vector<std::function<void(Connection&)>>& works) {
  std::promise<void> has_begun;
  std::promise<void> may_end;
  std::jthread holding([&] {
    database.write([&](Connection&) {
      has_begun.set_value();
      may_end.get_future().wait();
    });
  });
  has_begun.get_future().wait();
  std::vector<int> runs(works.size());
  std::latch ended(static_cast<std::ptrdiff_t>(works.size()));
  for (std::size_t place = 0; place < works.size(); ++place) {
    database.write_later(
        [&, place](Connection& connection) {
          ++runs[place];
          works[place](connection);
        },
        [&](const std::exception_ptr&) { ended.count_down(); });
  }
  may_end.set_value();
  ended.wait();
  return runs;
}

TEST_CASE("work runs again if other work of its commit failed after it had changed something") {
  const auto database = sqlite::open("", {.is_temporary = true});
  const auto inserts = [](std::int64_t key) {
    return [key](Connection& connection) { insert(connection, key); };
  };
  const auto refused = [](Connection&) { throw Error(Code::not_found, ""); };
  CHECK(runs_in_one_commit(*database, {inserts(1), refused, inserts(2)}) ==
        std::vector<int>{1, 1, 1});
  CHECK(count(*database) == 2);
  const auto fails_late = [](Connection& connection) {
    insert(connection, 3);
    throw Error(Code::not_found, "");
  };
  CHECK(runs_in_one_commit(*database, {inserts(4), refused, fails_late, fails_late, inserts(3)}) ==
        std::vector<int>{2, 2, 2, 1, 1});
  CHECK(count(*database) == 4);
  const auto makes_view = [](Connection& connection) {
    connection.execute("CREATE VIEW one AS SELECT 1");
    throw Error(Code::not_found, "");
  };
  CHECK(runs_in_one_commit(*database, {inserts(5), makes_view}) == std::vector<int>{2, 2});
  CHECK_THROWS_AS(database->reader()->query("SELECT * FROM one"), Error);
  CHECK(count(*database) == 5);
}

TEST_CASE("the changes of work that may be undone for itself stay in memory") {
  const auto database = sqlite::open("", {.is_temporary = true});
  const auto spill_size = [](Connection& connection) {
    Query query = connection.query("PRAGMA cache_spill");
    query.step();
    return query.number(0);
  };
  std::vector<std::int64_t> spilled_at;
  const auto notes = [&](Connection& connection) { spilled_at.push_back(spill_size(connection)); };
  const auto fails_late = [](Connection& connection) {
    insert(connection, 1);
    throw Error(Code::not_found, "");
  };
  CHECK(runs_in_one_commit(*database, {notes, fails_late}) == std::vector{2, 2});
  database->write(notes);
  REQUIRE(spilled_at.size() == 3);
  CHECK(spilled_at[0] > 0);
  CHECK(spilled_at[1] == 0);
  CHECK(spilled_at[2] == spilled_at[0]);
}

TEST_CASE("a bulk write is kept or undone as its work returns, while others write") {
  const auto database = sqlite::open("", {.is_temporary = true});
  in_threads(threads, [&](int thread) {
    for (int i = 0; i < 10; ++i) {
      const std::int64_t first = (thread * 10 + i) * 100 + 1;
      const bool keeps = i % 2 == 0;
      if (thread % 4 == 0) {
        database->write_bulk([&](Connection& connection) {
          for (int n = 0; n < 100; ++n) insert(connection, first + n);
          return keeps;
        });
      } else {
        database->write([&](Connection& connection) { insert(connection, first); });
      }
    }
  });
  CHECK(count(*database) == 4 * 5 * 100 + 12 * 10);
  CHECK(database->commits().writes == 12 * 10);
}

TEST_CASE("a patient bulk write waits longer for the writer than other writes") {
  const auto database = sqlite::open("", {.is_temporary = true, .max_wait = 100ms});
  std::promise<void> has_begun;
  std::promise<void> may_end;
  std::jthread holding([&] {
    database->write_bulk([&](Connection&) {
      has_begun.set_value();
      may_end.get_future().wait();
      return false;
    });
  });
  has_begun.get_future().wait();
  const auto write = [&](bool is_patient) {
    database->fill({.table = {}, .is_patient = is_patient})
        ->write([](Connection& connection, Connection*) {
          insert(connection, 1);
          return true;
        });
  };
  CHECK_THROWS_WITH_AS(write(false), doctest::Contains("busy"), Error);
  std::jthread ending([&] {
    std::this_thread::sleep_for(200ms);  // more than max_wait
    may_end.set_value();
  });
  CHECK_NOTHROW(write(true));
  CHECK(count(*database) == 1);
}

TEST_CASE("readers of one snapshot see the same state during writes") {
  const auto database = sqlite::open("", {.is_temporary = true});
  std::atomic<bool> is_done = false;
  std::jthread writing([&] {
    for (std::int64_t key = 1; key <= 300; ++key) {
      database->write([&](Connection& connection) { insert(connection, key); });
    }
    is_done = true;
  });
  do {
    std::vector<std::int64_t> counts;
    for (const Lease& reader : database->readers_of_one_snapshot(4)) {
      Query query = reader->query("SELECT count(*) FROM customers");
      query.step();
      counts.push_back(query.column(0).integer);
    }
    // Fewer, if a commit came between their snapshots again and again.
    CHECK(counts == std::vector<std::int64_t>(counts.size(), counts.front()));
  } while (!is_done);
}

TEST_CASE("readers of one snapshot see the same state while another program commits") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  sqlite::SqliteConnection other(folder / "a.db", SQLITE_OPEN_READWRITE);
  const auto commit = [](unsigned, void* connection, void*, void*) {
    static_cast<sqlite::SqliteConnection*>(connection)
        ->execute("INSERT INTO customers DEFAULT VALUES");
    return 0;
  };
  // The other program commits whenever one of the readers begins a statement.
  for (const Lease& reader : database->readers_of_one_snapshot(2)) {
    sqlite3_trace_v2(static_cast<sqlite::SqliteConnection&>(*reader).handle(), SQLITE_TRACE_STMT,
                     commit, &other);
  }
  std::set<std::int64_t> counts;
  for (const Lease& reader : database->readers_of_one_snapshot(2)) {
    Query query = reader->query("SELECT count(*) FROM customers");
    query.step();
    counts.insert(query.column(0).integer);
  }
  CHECK(counts.size() == 1);
}

TEST_CASE("a reader returned inside a transaction is lent again outside of one") {
  const auto database = sqlite::open("", {.is_temporary = true});
  database->reader()->execute("BEGIN");
  database->write([](Connection& connection) { insert(connection, 1); });
  const Lease reader = database->reader();
  CHECK_NOTHROW(reader->execute("BEGIN"));
  CHECK_THROWS_AS(reader->execute("INSERT INTO customers (key) VALUES (2)"), Error);
}

}  // namespace
}  // namespace comptroller::db
