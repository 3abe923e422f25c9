#include "db/sqlite/schema.hpp"

#include "db/migrations.hpp"
#include "db/sqlite/database.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

// Whether a file is a store, or has no tables and can become one.
bool is_store_or_empty(SqliteConnection& connection) {
  const auto id = connection.read_number("PRAGMA application_id");
  const auto version = connection.read_number("PRAGMA user_version");
  if (id != 0 || version != 0) return id == application_id && version >= 0;
  return connection.read_number("SELECT count(*) FROM sqlite_schema") == 0;
}

[[noreturn]] void throw_foreign(const std::string& path) {
  throw Error(Code::unusable, path + " is not a comptroller store");
}

}  // namespace

int newest_schema_version() {
  return migrations().back().version;
}

int schema_version(SqliteConnection& connection, const std::string& path) {
  if (!is_store_or_empty(connection)) throw_foreign(path);
  const auto version = static_cast<int>(connection.read_number("PRAGMA user_version"));
  if (version > newest_schema_version()) {
    throw Error(Code::unusable, path + " has schema version " + std::to_string(version) +
                                    ", newer than " + std::to_string(newest_schema_version()) +
                                    " of this program; upgrade comptroller to open it");
  }
  return version;
}

void refuse_foreign(const std::string& path) {
  // Reads the header through SQLite: closing another descriptor of the file would drop the locks of
  // this process's connections. The file is opened as immutable, so that no file is created beside
  // it.
  SqliteConnection connection(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  bool is_foreign = false;
  try {
    is_foreign = !is_store_or_empty(connection);
  } catch (const Error&) {
    // Other failures may be caused by a process that is writing; opening the store reports them.
    is_foreign = sqlite3_errcode(connection.handle()) == SQLITE_NOTADB;
  }
  if (is_foreign) throw_foreign(path);
}

void use_write_ahead_log(SqliteConnection& connection, const std::string& path) {
  Query query = connection.query("PRAGMA journal_mode = WAL");
  const std::string mode(query.step() ? query.column(0).bytes : "");
  if (mode == "wal") return;
  throw Error(Code::unusable, path + " cannot have a write-ahead log (its journal mode is \"" +
                                  mode + "\"); use a local file system");
}

void migrate(SqliteConnection& connection, const std::string& path) {
  const int version = schema_version(connection, path);
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
