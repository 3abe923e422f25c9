#include "db/sqlite/schema.hpp"

#include "db/migrations.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

std::int64_t read_number(SqliteConnection& connection, std::string_view sql) {
  Query query = connection.query(sql);
  return query.step() ? query.column(0).integer : 0;
}

}  // namespace

int newest_schema_version() {
  return migrations().back().version;
}

int schema_version(SqliteConnection& connection, const std::string& path) {
  const auto id = read_number(connection, "PRAGMA application_id");
  const auto version = static_cast<int>(read_number(connection, "PRAGMA user_version"));
  const auto objects = read_number(connection, "SELECT count(*) FROM sqlite_schema");
  if (id == 0 && version == 0 && objects == 0) return 0;
  if (id != application_id || version < 0) {
    throw Error(Code::unavailable, path + " is not a comptroller store");
  }
  if (version > newest_schema_version()) {
    throw Error(Code::unavailable, path + " has schema version " + std::to_string(version) +
                                       ", newer than " + std::to_string(newest_schema_version()) +
                                       " of this program; upgrade comptroller to open it");
  }
  return version;
}

void migrate(SqliteConnection& connection, const std::string& path) {
  const int version = schema_version(connection, path);
  if (version == 0) connection.execute("PRAGMA journal_mode = WAL");
  if (version == newest_schema_version()) return;
  connection.execute("BEGIN IMMEDIATE");
  for (const Migration& migration : migrations()) {
    if (migration.version > version) connection.execute(std::string(migration.sql));
  }
  connection.execute("PRAGMA application_id = " + std::to_string(application_id));
  connection.execute("PRAGMA user_version = " + std::to_string(newest_schema_version()));
  connection.execute("COMMIT");
}

}  // namespace comptroller::db::sqlite
