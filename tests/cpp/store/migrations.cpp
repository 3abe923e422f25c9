// Rows of an earlier schema satisfy every invariant after the migration.
#include "db/sqlite/migrations.hpp"

#include <doctest/doctest.h>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/schema.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"

namespace comptroller::store {
namespace {

using service::Json;
using service::ServiceFixture;

constexpr const char* rows_of_version_1 = R"sql(
INSERT INTO symbols (key, text) VALUES (1, 'default'), (2, 'CLAIM_ALL'), (3, 'OTHER'), (4, 'DE'),
  (5, '00000000-0000-4000-8000-000000000001');
INSERT INTO customers VALUES (1);
INSERT INTO identities (key, id, customer_id, metadata, created_at, updated_at, implied) VALUES
  (1, 'own', 1, NULL, 5, 9, 0), (2, 'implied', 1, NULL, 5, 5, 1), (3, 'flagged', 1, NULL, 5, 9, 1),
  (4, 'noted', 1, '{"a":"b"}', 5, 9, 1), (5, 'replaced', 1, NULL, 4, 4, 1);
INSERT INTO controls (id, type, set_by, is_overridable, created_at, deleted_at, identity_id,
                      customer_id, identity_key, identity_created_at) VALUES
  ('a', 1, 0, 1, 5, 50, 'own', 1, 1, 5), ('b', 1, 0, 1, 6, 7, 'own', 1, 1, 5),
  ('c', 1, 0, 1, 60, NULL, 'own', 1, 1, 5), ('d', 2, 1, 1, 8, 3, 'own', 1, 1, 5),
  ('e', 1, 0, 1, 5, 6, 'implied', 1, 2, 5), ('f', 1, 0, 1, 2, 9, 'implied', 1, 2, 5),
  ('g', 0, 0, 1, 5, NULL, 'flagged', 1, 3, 5), ('h', 0, 0, 1, 5, NULL, 'noted', 1, 4, 5),
  ('i', 0, 0, 1, 5, NULL, 'replaced', 1, 5, 4);
INSERT INTO payout_groups (id, ledger, jurisdiction, created_at, updated_at, last_claim_all_at,
                           customer_id) VALUES (5, 0, 4, 1, 1, 30, 1);
INSERT INTO claims (id, payout_group_id, claim_type, onchain_status, amount, confirmed_at,
                    created_at, updated_at, customer_id, jurisdiction) VALUES
  ('a', 5, 2, 2, '1', 20, 1, 1, 1, 4), ('b', 5, 2, 2, '1', 10, 1, 1, 1, 4),
  ('c', 5, 3, 2, '1', 99, 1, 1, 1, 4), ('d', 5, 2, 1, '1', 99, 1, 1, 1, 4);
)sql";

// Makes a store of an earlier version with rows.
void make_store(const std::string& path, int version, const std::string& rows) {
  db::sqlite::SqliteConnection connection(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  connection.execute("PRAGMA journal_mode = WAL");
  for (const db::Migration& migration : db::sqlite::migrations()) {
    if (migration.version == 2) connection.execute(rows);
    if (migration.version > version) break;
    connection.execute(std::string(migration.sql));
  }
  connection.execute("PRAGMA application_id = " + std::to_string(db::sqlite::application_id) +
                     "; PRAGMA user_version = " + std::to_string(version));
}

// Returns the definitions of a store's tables and indexes, and its rows, as text.
std::string dump(const std::string& path) {
  db::sqlite::SqliteConnection connection(path, SQLITE_OPEN_READONLY);
  std::string text;
  std::vector<std::string> tables;
  {
    db::Query schema = connection.query("SELECT type, name, sql FROM sqlite_schema ORDER BY name");
    while (schema.step()) {
      for (int column = 0; column < 3; ++column) text.append(schema.column(column).bytes) += ' ';
      if (schema.column(0).bytes == "table") tables.emplace_back(schema.column(1).bytes);
    }
  }
  for (const std::string& table : tables) {
    db::Query rows = connection.query("SELECT * FROM " + table);
    db::Query columns = connection.query("SELECT count(*) FROM pragma_table_info('" + table + "')");
    columns.step();
    while (rows.step()) {
      for (int column = 0; column < columns.number(0); ++column) {
        const db::Value& value = rows.column(column);
        text.append(std::to_string(value.integer)).append(value.bytes) += ' ';
      }
    }
  }
  return text;
}

TEST_CASE("a store of the first version is sound and complete after its migration") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  make_store(path, 1, rows_of_version_1);
  ServiceFixture fixture(db::sqlite::open(path, {}));
  const Json report(check(fixture.service, fixture.provider));
  CHECK(report.at("/findings") == "[]");
  const auto permits = [&](std::int64_t at) {
    return fixture
        .call(fixture.provider, "identities.permits",
              {{"id", "own"}, {"action", "BUY"}, {"at", to_string(Timestamp{at})}})
        .at("/permitted");
  };
  CHECK(permits(4) == "true");
  CHECK(permits(8) == "false");
  CHECK(permits(49) == "false");
  CHECK(permits(50) == "true");
  CHECK(permits(61) == "false");
  const db::Lease reader = fixture.service.database()->reader();
  db::Query exported = reader->query("SELECT id FROM identities WHERE implied <> 1 ORDER BY key");
  std::string ids;
  while (exported.step()) ids += std::string(exported.column(0).bytes) + " ";
  CHECK(ids == "own flagged noted replaced ");
  // An observation cannot undo a confirmed claim, even one confirmed before the migration.
  CHECK(fixture
            .call(fixture.provider, "payout_groups.observe",
                  {{"id", "00000000-0000-4000-8000-000000000001"}},
                  R"({"last_claim_all_at":"1970-01-01T00:00:00Z"})")
            .at("/last_claim_all_at") == "1970-01-01T00:00:00.000020Z");
}

TEST_CASE("the tables of a migrated store are STRICT and equal to those of a new store") {
  const db::Folder folder;
  const auto tables = [](ServiceFixture& fixture) {
    const db::Lease reader = fixture.service.database()->reader();
    db::Query query = reader->query(
        "SELECT name, strict, (SELECT sql FROM sqlite_schema AS s WHERE s.name = t.name)"
        " FROM pragma_table_list AS t WHERE schema = 'main' AND type = 'table'"
        " AND name NOT LIKE 'sqlite_%' ORDER BY name");
    std::string text;
    while (query.step()) {
      CAPTURE(query.column(0).bytes);
      CHECK(query.number(1) == 1);
      text += query.column(2).bytes;
    }
    return text;
  };
  ServiceFixture fresh;
  const std::string expected = tables(fresh);
  for (int version = 1; version <= 4; ++version) {
    CAPTURE(version);
    const std::string path = folder / ("store" + std::to_string(version));
    make_store(path, version, rows_of_version_1);
    ServiceFixture fixture(db::sqlite::open(path, {}));
    CHECK(tables(fixture) == expected);
    CHECK(fixture.count(fixture.provider, "claims.list") == 4);
    CHECK(fixture.count(fixture.provider, "identities.list") == 5);
    CHECK_THROWS(fixture.service.database()->write([](db::Connection& connection) {
      connection.execute("UPDATE claims SET onchain_status = 'FAILED'");
    }));
    CHECK(Json(check(fixture.service, fixture.provider)).at("/findings") == "[]");
  }
}

TEST_CASE("a store with a value of a wrong type is not migrated, and is unchanged") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  std::string update;
  std::string finding;
  SUBCASE("text in a code") {
    update = "UPDATE claims SET onchain_status = 'FAILED' WHERE key > 2";
    finding = "claims.onchain_status: 2 values are not INTEGER, first of key 3";
  }
  SUBCASE("a real number in a time that may be NULL") {
    update = "UPDATE controls SET deleted_at = 1.5 WHERE id = 'b'";
    finding = "controls.deleted_at: 1 value is not INTEGER or NULL, first of key 2";
  }
  SUBCASE("an integer as an id") {
    update = "UPDATE identities SET id = 7 WHERE key = 5";
    finding = "identities.id: 1 value is not TEXT or BLOB, first of key 5";
  }
  SUBCASE("a blob in a table without keys") {
    update = "INSERT INTO secrets VALUES ('cursor', 5)";
    finding = "secrets.value: 1 value is not BLOB;";
  }
  make_store(path, 4, rows_of_version_1);
  db::sqlite::SqliteConnection(path, SQLITE_OPEN_READWRITE).execute(update);
  const std::string before = dump(path);
  const service::Refusal refusal = service::refusal_of([&] { db::sqlite::open(path, {}); });
  CHECK(refusal.code == "unusable");
  CHECK(refusal.detail.find(path + " cannot be migrated and is unchanged: " + finding) == 0);
  CHECK(dump(path) == before);
}

TEST_CASE("a store whose definitions another program changed is not migrated, and is unchanged") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  make_store(path, 4, rows_of_version_1);
  db::sqlite::SqliteConnection(path, SQLITE_OPEN_READWRITE)
      .execute("ALTER TABLE claims ADD COLUMN note VARCHAR");
  const std::string before = dump(path);
  const service::Refusal refusal = service::refusal_of([&] { db::sqlite::open(path, {}); });
  CHECK(refusal.code == "unusable");
  CAPTURE(refusal.detail);
  CHECK(refusal.detail.find(path + " cannot be migrated and is unchanged: ") == 0);
  CHECK(refusal.detail.find("claims.note") != std::string::npos);
  CHECK(dump(path) == before);
}

}  // namespace
}  // namespace comptroller::store
