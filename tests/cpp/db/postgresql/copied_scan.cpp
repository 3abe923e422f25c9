#include "db/postgresql/copied_scan.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "db/postgresql/connection.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::db::postgresql {
namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();

// A table whose keys have gaps, and whose rows become larger.
struct Scanned {
  Scanned() {
    connection.session().run_script(
        "CREATE TABLE things (key bigint PRIMARY KEY, wide bigint, code smallint, cell bytea);"
        " INSERT INTO things SELECT n * 3, nullif(n % 7, 0), n % 5,"
        " set_byte(decode(repeat('00', n % 50 + CASE WHEN n > 4000 THEN 5001 ELSE 1 END), 'hex'),"
        " 0, n % 2) FROM generate_series(1, 6000) AS n");
  }

  // Returns what the scan reads, and whether SQL reads the same.
  std::size_t compare(const TableScan& scan, const std::string& condition) {
    std::string sql = "SELECT ";
    for (const std::string_view column : scan.columns) sql.append(column).append(", ");
    sql += "key FROM things WHERE key >= ? AND key <= ?" + condition + " ORDER BY key";
    Query expected = connection.query(sql);
    expected.bind(1, scan.from).bind(2, scan.last);
    Query other = connection.query("SELECT count(*) FROM things WHERE key = ?");
    auto rows = connection.scan(scan);
    REQUIRE(rows.has_value());
    std::size_t count = 0;
    while (const std::size_t read = rows->step_rows(100)) {
      for (std::size_t row = 0; row < read; ++row, ++count) {
        REQUIRE(expected.step());
        for (int column = 0; column < static_cast<int>(scan.columns.size()); ++column) {
          REQUIRE(rows->column(column, row) == expected.column(column));
        }
      }
      REQUIRE(other.bind(1, std::int64_t{3}).step());  // between the steps
    }
    CHECK_FALSE(expected.step());
    CHECK_FALSE(rows->step());
    return count;
  }

  TestDatabase database;
  PostgresqlConnection connection{database.connect(), nullptr};
};

TEST_CASE("a scan reads the rows that SQL reads, in order of key") {
  if (!server_address()) return;
  Scanned things;
  const Snapshot snapshot(things.connection);
  const std::vector<std::string_view> columns{"cell", "wide", "NULL AS nothing", "code", "key"};
  CHECK(things.compare({"things", columns, least, most, {}}, "") == 6000);
  CHECK(things.compare({"things", {}, 1, 18'000, {}}, "") == 6000);
  CHECK(things.compare({"things", columns, 300, 3369, {}}, "") == 1024);  // as many as one part
  CHECK(things.compare({"things", columns, 300, 3371, {}}, "") == 1024);
  CHECK(things.compare({"things", columns, 300, 3372, {}}, "") == 1025);
  CHECK(things.compare({"things", columns, 18'001, most, {}}, "") == 0);
  CHECK(things.compare({"things", columns, 7, 6, {}}, "") == 0);
  CHECK(things.compare({"things", columns, least, most, {{"code", {1, 3}}}},
                       " AND code IN (1, 3)") == 2400);
  CHECK(things.compare({"things", columns, least, most, {{"code", {-1, most}}}}, " AND false") ==
        0);
  CHECK(things.compare({"things", columns, 9, most, {{"wide", {2, 4}, true}, {"code", {0}}}},
                       " AND wide >= 2 AND wide < 4 AND code = 0") > 300);
  CHECK(things.compare({"things", columns, 9, most, {{"wide", {least, most}, true}}},
                       " AND wide IS NOT NULL") > 5000);
}

TEST_CASE("a scan reads the least and the largest key") {
  if (!server_address()) return;
  Scanned things;
  things.connection.run("INSERT INTO things (key) VALUES (?), (?)", least, most);
  const Snapshot snapshot(things.connection);
  CHECK(things.compare({"things", {"key"}, least, most, {}}, "") == 6002);
  CHECK(things.compare({"things", {"key"}, most, most, {}}, "") == 1);
}

TEST_CASE("there is one scan of columns at a time, in a snapshot") {
  if (!server_address()) return;
  Scanned things;
  const auto scan = [&](std::string_view column) {
    return things.connection.scan({"things", {column}, least, most, {}});
  };
  CHECK_FALSE(scan("key"));
  const Snapshot snapshot(things.connection);
  CHECK_FALSE(scan("coalesce(wide, 0)"));
  {
    auto first = scan("key");
    REQUIRE(first->step());
    CHECK_FALSE(scan("key"));
  }
  auto next = scan("key");
  REQUIRE(next->step());
  CHECK(next->number(0) == 3);
}

TEST_CASE("a damaged value has a place") {
  if (!server_address()) return;
  Scanned things;
  things.connection.run("UPDATE things SET cell = '' WHERE key = 6");
  const Snapshot snapshot(things.connection);
  auto rows = things.connection.scan({"things", {"wide", "cell"}, least, most, {}});
  REQUIRE(rows->step());
  const auto refusal = service::refusal_of([&] { rows->step(); });
  CHECK(refusal.detail.starts_with("the store is damaged: things.cell of key 6: "));
}

TEST_CASE("a failure in the middle of a scan is thrown, and the connection can be used again") {
  if (!server_address()) return;
  Scanned things;
  things.connection.execute(
      "CREATE VIEW failing AS SELECT key, (CASE key WHEN 1500 THEN 'x' ELSE '1' END)::int AS wide"
      " FROM things");
  {
    const Snapshot snapshot(things.connection);
    auto rows = things.connection.scan({"failing", {"wide"}, least, most, {}});
    const auto refusal = service::refusal_of([&] {
      while (rows->step()) {
      }
    });
    CHECK(refusal.detail.find("invalid input syntax") != std::string::npos);
  }
  const Snapshot snapshot(things.connection);
  CHECK(things.compare({"things", {"wide"}, least, most, {}}, "") == 6000);
}

}  // namespace
}  // namespace comptroller::db::postgresql
