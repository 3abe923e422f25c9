// The indexes that lists declare, and the indexes of an operator's lists over many customers.
#include <doctest/doctest.h>

#include "db/folder.hpp"
#include "store/brute_force.hpp"
#include "store/customers.hpp"
#include "store/operator_indexes.hpp"

namespace comptroller::store {
namespace {

std::string normalised(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c != ' ' && c != '\n') out += c;
  }
  return out;
}

// Returns the columns and conditions of the indexes of a table as "(a,b)WHERE...".
std::vector<std::string> definitions(db::Connection& connection, const std::string& table) {
  std::vector<std::string> found;
  std::vector<std::string> constraints;
  {
    db::Query query = connection.query(
        "SELECT name, sql FROM sqlite_schema WHERE type = 'index' AND tbl_name = $table");
    query.bind("$table", Value::of(std::string_view(table)));
    while (query.step()) {
      const Value sql = query.column(1);
      if (sql.is_null()) {
        constraints.emplace_back(query.column(0).bytes);
      } else {
        found.push_back(normalised(sql.bytes.substr(sql.bytes.find('('))));
      }
    }
  }
  for (const std::string& name : constraints) {
    std::string columns;
    db::Query query = connection.query("SELECT name FROM pragma_index_info('" + name + "')");
    while (query.step())
      columns += (columns.empty() ? "(" : ",") + std::string(query.column(0).bytes);
    found.push_back(columns + ")");
  }
  return found;
}

std::int64_t operator_index_count(db::Database& database) {
  const db::Lease connection = database.reader();
  db::Query query = connection->query(
      "SELECT count(*) FROM sqlite_schema WHERE type = 'index' AND name LIKE '%_of_all'");
  query.step();
  return query.column(0).integer;
}

void add_customers(db::Database& database, int first, int last) {
  database.write([&](db::Connection& connection) {
    for (int i = first; i <= last; ++i)
      ensure_customer(connection, "customer-" + std::to_string(i));
  });
}

TEST_CASE("every filter of every list has the index that it declares") {
  ServiceFixture fixture;
  add_customers(*fixture.service.database(), 1, 16);  // 17 with the default customer
  const db::Lease connection = fixture.service.database()->reader();
  for_each_list([&]<class R, class Request>() {
    for_each_index<Request>([&](const Index& index) {
      const std::string table(index.table.empty() ? R::table : index.table);
      const std::vector<std::string> known = definitions(*connection, table);
      const auto definition = [&](std::string_view columns) {
        std::string sql = "(" + std::string(columns) + ")";
        if (!index.where.empty()) sql += " WHERE " + std::string(index.where);
        return normalised(sql);
      };
      CAPTURE(table);
      CAPTURE(index.columns);
      CHECK(std::ranges::count(known, definition(index.columns)) == 1);
      if (!index.columns.starts_with("customer_id, ")) return;
      CHECK(std::ranges::count(known, definition(index.columns.substr(13))) == 1);
    });
  });
}

TEST_CASE("the seventeenth customer creates the indexes of an operator's lists, at once or later") {
  ServiceFixture fixture;
  db::Database& database = *fixture.service.database();
  add_customers(database, 1, 15);
  CHECK(operator_index_count(database) == 0);
  SUBCASE("while no table is large") {
    add_customers(database, 16, 16);
    const std::int64_t count = operator_index_count(database);
    CHECK(count > 20);
    add_customers(database, 17, 40);
    CHECK(operator_index_count(database) == count);
  }
  SUBCASE("after a load that fills an empty table") {
    database.write_bulk([](db::Connection& connection) {
      defer_operator_indexes(connection);
      ensure_customer(connection, "customer-16");
      CHECK_FALSE(ownership(connection, {}).has_indexes_of_all);
      resume_operator_indexes(connection);
      make_operator_indexes(connection);
      CHECK(ownership(connection, {}).has_indexes_of_all);
      return true;
    });
    CHECK(operator_index_count(database) > 20);
  }
  SUBCASE("not in a load that is undone") {
    database.write_bulk([](db::Connection& connection) {
      defer_operator_indexes(connection);
      ensure_customer(connection, "customer-16");
      return false;
    });
    CHECK(operator_index_count(database) == 0);
    add_customers(database, 16, 16);
    CHECK(operator_index_count(database) > 20);
  }
}

TEST_CASE("opening a store for writing creates missing indexes") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  {
    ServiceFixture fixture(db::sqlite::open(path, {}));
    add_customers(*fixture.service.database(), 1, 40);
    fixture.service.database()->write([](db::Connection& connection) {
      std::vector<std::string> names;
      {
        db::Query query =
            connection.query("SELECT name FROM sqlite_schema WHERE name LIKE '%_of_all'");
        while (query.step()) names.emplace_back(query.column(0).bytes);
      }
      for (const std::string& name : names) connection.execute("DROP INDEX " + name);
      connection.execute("DELETE FROM operator_indexes");
    });
    CHECK(operator_index_count(*fixture.service.database()) == 0);
  }
  {
    ServiceFixture fixture(db::sqlite::open(path, {.read_only = true}));
    CHECK(operator_index_count(*fixture.service.database()) == 0);
  }
  ServiceFixture fixture(db::sqlite::open(path, {}));
  CHECK(operator_index_count(*fixture.service.database()) > 20);
}

}  // namespace
}  // namespace comptroller::store
