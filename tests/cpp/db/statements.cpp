#include <doctest/doctest.h>

#include <optional>

#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

sqlite::SqliteConnection connect() {
  return {":memory:", SQLITE_OPEN_READWRITE};
}

// Returns a statement with a text of `bytes` bytes.
std::string long_text(std::size_t bytes) {
  std::string sql = "SELECT 1 --";
  return sql + std::string(bytes - sql.size(), 'x');
}

std::size_t prepared_statements(const sqlite::SqliteConnection& connection) {
  std::size_t count = 0;
  sqlite3_stmt* statement = nullptr;
  while ((statement = sqlite3_next_stmt(connection.handle(), statement)) != nullptr) ++count;
  return count;
}

// Returns how often the prepared statements of this text have run; nullopt if there is none.
std::optional<int> runs(const sqlite::SqliteConnection& connection, std::string_view sql) {
  std::optional<int> sum;
  sqlite3_stmt* statement = nullptr;
  while ((statement = sqlite3_next_stmt(connection.handle(), statement)) != nullptr) {
    if (sqlite3_sql(statement) != sql) continue;
    sum = sum.value_or(0) + sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
  }
  return sum;
}

TEST_CASE("a statement is prepared once while it is among the most recently used") {
  sqlite::SqliteConnection connection = connect();
  for (int round = 1; round <= 5; ++round) {
    connection.query("SELECT 'often'").run();
    for (std::size_t other = 0; other < sqlite::StatementCache::max_statements - 1; ++other) {
      connection.query("SELECT " + std::to_string(round) + ", " + std::to_string(other)).run();
    }
    CHECK(runs(connection, "SELECT 'often'") == round);
  }
  CHECK(prepared_statements(connection) == sqlite::StatementCache::max_statements);
  connection.query("SELECT 'one more'").run();
  CHECK_FALSE(runs(connection, "SELECT 'often'").has_value());
  CHECK(prepared_statements(connection) == sqlite::StatementCache::max_statements);
}

TEST_CASE("a large statement evicts no small statement") {
  sqlite::SqliteConnection connection = connect();
  for (int other = 0; other < 100; ++other) {
    connection.query("SELECT " + std::to_string(other)).run();
  }
  for (std::size_t size = 100'000; size < 1'000'000; size += 100'000) {
    connection.query(long_text(size)).run();
  }
  for (int other = 0; other < 100; ++other) {
    CHECK(runs(connection, "SELECT " + std::to_string(other)) == 1);
  }
  CHECK(prepared_statements(connection) <= 102);
}

TEST_CASE("statements that differ in one character are different statements") {
  sqlite::SqliteConnection connection = connect();
  const std::string text = "SELECT '" + std::string(300, 'a') + "'";
  for (std::size_t place = 8; place < 308; place += 7) {
    std::string changed = text;
    changed[place] = 'b';
    Query query = connection.query(changed);
    REQUIRE(query.step());
    CHECK(query.column(0).bytes == changed.substr(8, 300));
  }
}

TEST_CASE("several statements of one text run independently") {
  sqlite::SqliteConnection connection = connect();
  const std::string_view sql = "SELECT $a + value FROM json_each('[1, 2]')";
  for (int round = 0; round < 3; ++round) {
    Query outer = connection.query(sql);
    outer.bind("$a", Value::of(10));
    REQUIRE(outer.step());
    Query inner = connection.query(sql);
    inner.bind("$a", Value::of(20));
    REQUIRE(inner.step());
    CHECK(outer.column(0).integer == 11);
    CHECK(inner.column(0).integer == 21);
    REQUIRE(outer.step());
    CHECK(outer.column(0).integer == 12);
    CHECK_FALSE(outer.step());
    REQUIRE(inner.step());
  }
  CHECK(prepared_statements(connection) == 2);
}

TEST_CASE("more statements may be in use than the cache keeps") {
  sqlite::SqliteConnection connection = connect();
  {
    std::vector<Query> queries;
    for (int number = 0; number < 600; ++number) {
      queries.push_back(connection.query("SELECT " + std::to_string(number)));
      REQUIRE(queries.back().step());
    }
    for (int number = 0; number < 600; ++number) {
      CHECK(queries[static_cast<std::size_t>(number)].column(0).integer == number);
    }
  }
  connection.query("SELECT 'next'").run();
  CHECK(prepared_statements(connection) == sqlite::StatementCache::max_statements);
}

TEST_CASE("parameters are bound by name in any order, and more than once") {
  sqlite::SqliteConnection connection = connect();
  Query query = connection.query("SELECT $a, $b, ?, $c, $a");
  query.bind("$c", Value::of(3)).bind("$a", Value::of(0)).bind("$b", Value::of(2));
  query.bind(3, Value::of(9)).bind("$a", Value::of(1));
  REQUIRE(query.step());
  for (const auto& [column, expected] : {std::pair{0, 1}, {1, 2}, {2, 9}, {3, 3}, {4, 1}}) {
    CHECK(query.column(column).integer == expected);
  }
  CHECK_THROWS_AS(query.bind("$d", Value::null()), Error);
  CHECK_THROWS_AS(query.bind("a", Value::null()), Error);
}

TEST_CASE("parameters are bound by name after a change of the schema") {
  sqlite::SqliteConnection connection = connect();
  for (int round = 0; round < 3; ++round) {
    Query query = connection.query("SELECT $first_parameter_of_two, $second_parameter_of_two");
    query.bind("$first_parameter_of_two", Value::of(1));
    query.bind("$second_parameter_of_two", Value::of(2));
    REQUIRE(query.step());
    CHECK(query.column(1).integer == 2);
    connection.execute("CREATE TABLE t" + std::to_string(round) + " (a)");
  }
}

TEST_CASE("values of every type are returned as they were bound") {
  sqlite::SqliteConnection connection = connect();
  Query types = connection.query("SELECT ?, ?, ?, ?, x'', ''");
  types.bind(1, Value::of(5)).bind(2, Value::of(std::string_view{})).bind(3, Value::null());
  types.bind(4, Value::blob(std::string_view("a\0b", 3)));
  REQUIRE(types.step());
  CHECK(types.column(0) == Value::of(5));
  CHECK(types.column(1).kind == Value::Kind::text);
  CHECK(types.column(2).is_null());
  CHECK(types.column(3) == Value::blob(std::string_view("a\0b", 3)));
  CHECK(types.column(4).kind == Value::Kind::blob);
  CHECK(types.column(5).bytes.empty());
}

// A statement whose only value cannot be read, and has a place.
class Unreadable final : public Statement {
 public:
  bool step() override { return true; }
  std::string place_of(int, std::size_t) override { return "things.text of key 1"; }
};

TEST_CASE("the error of a damaged value names its place, and others keep their class") {
  Unreadable statement;
  Query query(statement);
  CHECK_THROWS_WITH_AS(query.locate(0, 0, [] { throw Error::damaged("it is NULL"); }),
                       doctest::Contains("things.text of key 1: it is NULL"), Error);
  CHECK_THROWS_AS(query.locate(0, 0, [] { throw Lost(Code::unavailable, "lost"); }), Lost);
  CHECK_THROWS_AS(query.locate(0, 0, [] { throw Conflict(Code::unavailable, "met"); }), Conflict);
}

}  // namespace
}  // namespace comptroller::db
