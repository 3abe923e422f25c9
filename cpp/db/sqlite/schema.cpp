#include "db/sqlite/schema.hpp"

#include <filesystem>
#include <optional>
#include <system_error>

#include "db/sqlite/migrations.hpp"
#include "db/sqlite/open_file.hpp"
#include "db/sqlite/value_types.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::uintmax_t max_page_size = 65536;

// Whether a file is a store, or has no tables and can become one.
bool is_store_or_empty(SqliteConnection& connection) {
  const auto id = connection.read_number("PRAGMA application_id");
  const auto version = connection.read_number("PRAGMA user_version");
  if (id != 0 || version != 0) return id == application_id && version >= 0;
  return is_empty(connection);
}

// Runs the migrations after `version`. Throws unusable, naming `path` and the first value, if a
// value is not of the type of its column.
void run_migrations(SqliteConnection& connection, int version, const std::string& path) {
  std::vector<std::string> wrong;
  try {
    for (const Migration& migration : migrations()) {
      if (migration.version > version) connection.execute(std::string(migration.sql));
    }
    wrong = find_wrong_types(connection);
  } catch (const Error& error) {
    const bool is_damaged =
        error.code() == Code::unusable && sqlite3_errcode(connection.handle()) == SQLITE_CORRUPT;
    if (!is_damaged) throw;
    wrong.emplace_back(sqlite3_errmsg(connection.handle()));
  }
  if (wrong.empty()) return;
  throw Error(Code::unusable, path + " cannot be migrated and is unchanged: " + wrong.front() +
                                  "; correct the value with the release that wrote the store, or "
                                  "restore a backup");
}

[[noreturn]] void throw_foreign(const std::string& path) {
  throw Error(Code::unusable, path + " is not a comptroller store");
}

}  // namespace

int newest_schema_version() {
  return migrations().back().version;
}

bool is_empty(SqliteConnection& connection) {
  return connection.read_number("PRAGMA application_id") == 0 &&
         connection.read_number("PRAGMA user_version") == 0 &&
         connection.read_number("SELECT count(*) FROM sqlite_schema") == 0;
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

void require_newest_schema(SqliteConnection& connection) {
  if (connection.read_number("PRAGMA application_id") != application_id) {
    throw Error(
        Code::unusable,
        "the content of the store was replaced by that of another program; restore a backup");
  }
  const auto version = connection.read_number("PRAGMA user_version");
  if (version == newest_schema_version()) return;
  throw Error(
      Code::unusable,
      "the content of the store was replaced by that of schema version " + std::to_string(version) +
          ", but this program has version " + std::to_string(newest_schema_version()) +
          (version < newest_schema_version()
               ? "; end all programs that use the store, then open it again, which migrates it"
               : "; upgrade comptroller and start this program again"));
}

void refuse_foreign(const std::string& path) {
  // The file may be half written, and only the opening for writing undoes that with its journal.
  std::error_code unknown;
  if (std::filesystem::exists(path + "-journal", unknown)) return;
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

void refuse_without_log(const std::string& path, bool was_locked_before) {
  const auto size_of = [&](const char* suffix) {
    std::error_code missing;
    const auto size = std::filesystem::file_size(path + suffix, missing);
    return missing ? std::nullopt : std::optional(size);
  };
  const auto size = size_of("").value_or(0);
  const auto log_size = size_of("-wal");
  const bool is_unfinished =
      (log_size && was_locked_before) || size_of("-journal") || size_of(private_copy_suffix);
  if (size == 0 || size > max_page_size || log_size > 0U || is_unfinished) return;
  SqliteConnection connection(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  if (!sqlite_format::is_wal_file(connection.handle()) || !is_empty(connection)) return;
  throw Error(Code::unusable,
              path +
                  " is a copy without its log, the file with the suffix -wal, which has the "
                  "content; copy the store again with `comptroller backup`, or remove this file "
                  "if there was never a store");
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
  // A migration may change definitions in sqlite_schema, which some builds of SQLite refuse.
  sqlite3_db_config(connection.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
  connection.execute("BEGIN IMMEDIATE");
  run_migrations(connection, version, path);
  const auto cookie = connection.read_number("PRAGMA schema_version");
  connection.execute("PRAGMA schema_version = " + std::to_string(cookie + 1));
  connection.execute("PRAGMA application_id = " + std::to_string(application_id));
  connection.execute("PRAGMA user_version = " + std::to_string(newest_schema_version()));
  connection.execute("COMMIT");
}

}  // namespace comptroller::db::sqlite
