// Rows of an earlier schema satisfy every invariant after the migration.
#include "db/migrations.hpp"

#include <doctest/doctest.h>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
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

TEST_CASE("a store of the first version is sound and complete after its migration") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  {
    db::sqlite::SqliteConnection first(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
    first.execute("PRAGMA journal_mode = WAL");
    first.execute(std::string(db::migrations().front().sql));
    first.execute(rows_of_version_1);
    first.execute("PRAGMA application_id = " + std::to_string(db::sqlite::application_id) +
                  "; PRAGMA user_version = 1");
  }
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

}  // namespace
}  // namespace comptroller::store
