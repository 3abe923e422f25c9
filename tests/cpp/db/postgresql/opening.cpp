#include <doctest/doctest.h>

#include <array>
#include <map>
#include <set>
#include <vector>

#include "db/postgresql/connection.hpp"
#include "db/postgresql/migrations.hpp"
#include "db/postgresql/schema.hpp"
#include "db/sqlite/database.hpp"
#include "db/sqlite/migrations.hpp"
#include "model/error.hpp"
#include "postgresql_server.hpp"
#include "service/service_fixture.hpp"
#include "threads.hpp"

namespace comptroller::db::postgresql {
namespace {

using Names = std::map<std::string, std::set<std::string>>;  // by table

// Returns the names of a query, without those of the tables that only PostgreSQL has.
Names names_of(Connection& connection, std::string_view sql) {
  Names names;
  Query rows = connection.query(sql);
  while (rows.step()) names[std::string(rows.column(0).bytes)].emplace(rows.column(1).bytes);
  for (const char* table : {"store_version", "journal_writer", "journal_pending"}) {
    names.erase(table);
  }
  return names;
}

TEST_CASE("the schema has the tables and columns of SQLite's") {
  if (!server_address()) return;
  const TestDatabase database;
  const auto store = database.open();
  const auto sqlite = sqlite::open("", {.is_temporary = true});
  CHECK(names_of(*store->reader(),
                 "SELECT table_name::text, column_name ||"
                 " CASE is_nullable WHEN 'NO' THEN ' NOT NULL' ELSE '' END"
                 " FROM information_schema.columns WHERE table_schema = 'public'") ==
        names_of(*sqlite->reader(),
                 "SELECT t.name, c.name || iif(c.\"notnull\" OR c.pk, ' NOT NULL', '')"
                 " FROM sqlite_schema AS t, pragma_table_info(t.name) AS c"
                 " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%'"));
}

// Each index as its name, unless it belongs to a constraint, its columns, and whether it is unique
// and has a condition. SQLite appends the primary key to an index that is not unique; PostgreSQL's
// schema does the same, except for indexes that are not read in the order of the primary key.
constexpr const char* indexes_of_sqlite = R"(
SELECT t.name, iif(i.origin = 'c', i.name, 'constraint') || ': ' ||
  (SELECT group_concat(
     CASE c.cid WHEN -2 THEN 'expression' WHEN -1 THEN k.name ELSE c.name END, ' ')
   FROM pragma_index_xinfo(i.name) AS c
   LEFT JOIN pragma_table_info(t.name) AS k ON k.pk AND c.cid = -1
   WHERE c.key OR NOT (i."unique" OR i.name IN
       ('identities_by_control_type', 'identities_by_reason_code', 'idempotency_keys_by_age',
        'journal_of_removed', 'jurisdiction_changes_by_customer')
     OR EXISTS (SELECT * FROM pragma_index_info(i.name) AS n WHERE n.name = k.name)))
  || iif(i."unique", ' unique', '') || iif(i.partial, ' partial', '')
FROM sqlite_schema AS t, pragma_index_list(t.name) AS i WHERE t.type = 'table' AND i.origin <> 'pk'
UNION ALL
SELECT t.name, 'primary key: ' || group_concat(c.name, ' ')
FROM sqlite_schema AS t, pragma_table_info(t.name) AS c WHERE t.type = 'table' AND c.pk
GROUP BY t.name)";
constexpr const char* indexes_of_postgresql = R"(
SELECT t.relname::text, CASE WHEN i.indisprimary THEN 'primary key'
  WHEN EXISTS (SELECT * FROM pg_constraint WHERE conindid = i.indexrelid) THEN 'constraint'
  ELSE i.indexrelid::regclass::text END || ': ' ||
  (SELECT string_agg(coalesce(a.attname, 'expression'), ' ' ORDER BY c.place)
   FROM unnest(i.indkey::int2[]) WITH ORDINALITY AS c (number, place)
   LEFT JOIN pg_attribute AS a ON a.attrelid = t.oid AND a.attnum = c.number AND c.number <> 0)
  || CASE WHEN i.indisunique AND NOT i.indisprimary THEN ' unique' ELSE '' END
  || CASE WHEN i.indpred IS NULL THEN '' ELSE ' partial' END
FROM pg_index AS i JOIN pg_class AS t ON t.oid = i.indrelid
WHERE t.relnamespace = 'public'::regnamespace)";

TEST_CASE("the schema has the indexes of SQLite's") {
  if (!server_address()) return;
  const TestDatabase database;
  const auto store = database.open();
  const auto sqlite = sqlite::open("", {.is_temporary = true});
  CHECK(names_of(*store->reader(), indexes_of_postgresql) ==
        names_of(*sqlite->reader(), indexes_of_sqlite));
}

TEST_CASE("later migrations have the numbers and names of SQLite's") {
  std::map<int, std::string_view> names;
  for (const Migration& each : sqlite::migrations()) names[each.version] = each.name;
  const auto first = migrations().front().version;
  for (const Migration& each : migrations()) {
    if (each.version > first) CHECK(names[each.version] == each.name);
  }
  CHECK(migrations().back().version == sqlite::migrations().back().version);
}

TEST_CASE("processes that open an empty database at once make one store") {
  if (!server_address()) return;
  const TestDatabase database;
  std::array<std::string, 8> failures;
  in_threads(failures.size(), [&](int thread) {
    failures[std::size_t(thread)] =
        service::refusal_of([&] { service::ServiceFixture(database.open()); }).detail;
  });
  for (const std::string& failure : failures) CHECK(failure.empty());
  const auto store = database.open();
  const Lease reader = store->reader();
  Query secrets = reader->query("SELECT count(*) FROM secrets");
  secrets.step();
  CHECK(secrets.number(0) == 1);
}

std::int64_t version_of(const TestDatabase& database) {
  PostgresqlConnection connection(database.connect(), nullptr);
  Query version = connection.query("SELECT version FROM store_version");
  version.step();
  return version.number(0);
}

TEST_CASE("a program does not write a store that a newer one has migrated") {
  if (!server_address()) return;
  const TestDatabase database;
  service::ServiceFixture older(database.open());
  older.answer(older.provider, "identities.put", {}, R"({"id":"alice"})");
  std::vector<Migration> newer(migrations().begin(), migrations().end());
  const int version = newer.back().version + 1;
  newer.push_back({version, "later", "ALTER TABLE identities ADD COLUMN later integer"});
  std::array<std::string, 4> failures;
  in_threads(failures.size(), [&](int thread) {
    failures[std::size_t(thread)] = service::refusal_of([&] {
                                      PostgresqlConnection connection(database.connect(), nullptr);
                                      migrate(connection, newer);
                                    }).detail;
  });
  for (const std::string& failure : failures) CHECK(failure.empty());
  CHECK(version_of(database) == version);
  const auto refused = older.refused(older.provider, "identities.put", {}, R"({"id":"bob"})");
  const std::string newer_version = "the store has schema version " + std::to_string(version);
  INFO(refused.detail);
  CHECK((refused.detail.starts_with("a newer comptroller has migrated the store") ||
         refused.detail.starts_with(newer_version)));  // on a new connection
  const auto refusal = service::refusal_of([&] { database.open(); });
  CHECK(refusal.detail.starts_with(newer_version));
}

TEST_CASE("each new connection of a program checks the version of the store") {
  if (!server_address()) return;
  const TestDatabase database;
  const auto store = database.open();
  database.connect()->run_script("UPDATE store_version SET version = 1000");
  std::vector<Lease> leases;
  const auto refusal = service::refusal_of([&] {
    while (leases.size() < 50) leases.push_back(store->reader());
  });
  CHECK(refusal.detail.starts_with("the store has schema version 1000"));
}

struct Refused {
  const char* script;  // run in an empty database
  bool read_only;
  const char* code;
  const char* detail;  // its begin
};

constexpr Refused refused[]{
    {"CREATE TABLE mine (key integer)", false, "unusable",
     "the database has tables of another program"},
    {"CREATE TABLE store_version (only_row integer, version integer);"
     "INSERT INTO store_version VALUES (1, 1000)",
     false, "unusable", "the store has schema version 1000, newer than "},
    {"SELECT", true, "unusable", "the database has no store; open it for writing once"},
    {"CREATE TABLE store_version (only_row integer, version integer);"
     "INSERT INTO store_version VALUES (1, 1)",
     true, "unusable", "the store has an older schema"},
};

TEST_CASE("what is no store of this version is refused") {
  if (!server_address()) return;
  for (const Refused& each : refused) {
    CAPTURE(each.script);
    const TestDatabase database;
    database.connect()->run_script(each.script);
    const auto refusal = service::refusal_of([&] { database.open({.read_only = each.read_only}); });
    CHECK(refusal.code == each.code);
    CHECK(refusal.detail.starts_with(each.detail));
  }
}

constexpr const char* secret = "s3cret";

TEST_CASE("no message about an address shows its password") {
  const std::pair<const char*, const char*> addresses[]{
      {"postgresql://me:s3cret@127.0.0.1:1/store", "unavailable"},
      {"postgresql://me:s3cret@/store?host=/nowhere", "unavailable"},
      {"postgresql://me:s3cret%@host/store", "invalid-request"},
      {"postgresql://me:s3cret@[::1/store", "invalid-request"},
      {"postgresql://me:s3cret@host/store?unknown=1", "invalid-request"},
  };
  if (!server_address()) return;
  for (const auto& [address, code] : addresses) {
    CAPTURE(address);
    const auto refusal = service::refusal_of([&] { postgresql::open(address, {}); });
    CHECK(refusal.code == code);
    CHECK(refusal.detail.find(secret) == std::string::npos);
  }
}

TEST_CASE("a store has the clock of its database") {
  if (!server_address()) return;
  const TestDatabase database;
  database.open();
  // The functions of this schema come before those of the server.
  database.connect()->run_script(
      "CREATE SCHEMA later; CREATE FUNCTION later.clock_timestamp() RETURNS timestamptz"
      " LANGUAGE sql AS $$ SELECT pg_catalog.clock_timestamp() + interval '1 hour' $$");
  const auto store =
      postgresql::open(database.address() + "&options=-csearch_path%3Dlater,public,pg_catalog", {});
  const std::int64_t offset = store->clock_offset()();
  constexpr std::int64_t hour = 3'600'000'000;
  CHECK(offset > hour - 1'000'000);
  CHECK(offset < hour + 1'000'000);
}

}  // namespace
}  // namespace comptroller::db::postgresql
