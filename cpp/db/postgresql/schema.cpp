#include "db/postgresql/schema.hpp"

#include <string>

#include "db/postgresql/migrations.hpp"
#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr int oldest_server = 130'000;
constexpr int max_attempts = 20;  // of processes that make the tables at once

std::int64_t read_number(Connection& connection, std::string_view sql) {
  Query row = connection.query(sql);
  return row.step() ? row.number(0) : 0;
}

void check_server(PostgresqlConnection& connection) {
  if (connection.session().server_version() < oldest_server) {
    throw Error(Code::unusable, "the server is PostgreSQL " +
                                    connection.session().parameter("server_version") +
                                    "; comptroller needs 13 or newer");
  }
  const std::string encoding = connection.session().parameter("server_encoding");
  if (encoding != "UTF8") {
    throw Error(Code::unusable,
                "the encoding of the database is " + encoding + "; create it with ENCODING 'UTF8'");
  }
}

// Whether the schema in which tables would be made has tables.
bool has_tables(Connection& connection) {
  return read_number(connection,
                     "SELECT count(*) FROM pg_class AS c JOIN pg_namespace AS n"
                     " ON n.oid = c.relnamespace WHERE n.nspname = current_schema()"
                     " AND c.relkind IN ('r', 'p', 'v', 'm')") > 0;
}

bool is_store(Connection& connection) {
  return read_number(connection, "SELECT to_regclass('store_version') IS NOT NULL") != 0;
}

std::int64_t version_of(Connection& connection, std::span<const Migration> steps) {
  const std::int64_t version = read_number(connection, "SELECT version FROM store_version");
  const int newest = steps.back().version;
  if (version > newest) {
    throw Error(Code::unusable, "the store has schema version " + std::to_string(version) +
                                    ", newer than " + std::to_string(newest) +
                                    " of this program; upgrade comptroller to open it");
  }
  return version;
}

void rename_writer_lock(Session& session, int from, int to) {
  if (from == to) return;
  session.run_script("ALTER TABLE " + writer_lock(from) + " RENAME TO " + writer_lock(to));
}

void run_migrations(PostgresqlConnection& connection, std::span<const Migration> steps) {
  Session& session = connection.session();
  session.run_script(
      "BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE;"
      "CREATE TABLE IF NOT EXISTS store_version"
      " (only_row int4 PRIMARY KEY CHECK (only_row = 1), version int4 NOT NULL);"
      "INSERT INTO store_version (only_row, version) VALUES (1, 0) ON CONFLICT DO NOTHING;"
      "SELECT version FROM store_version FOR UPDATE");
  const std::int64_t version = version_of(connection, steps);
  // First, because it waits for writes, which then wait for no table of the migrations.
  if (version > 0) rename_writer_lock(session, static_cast<int>(version), steps.back().version);
  for (const Migration& migration : steps) {
    if (migration.version > version) session.run_script(std::string(migration.sql));
  }
  if (version == 0) rename_writer_lock(session, steps.front().version, steps.back().version);
  session.run_script("UPDATE store_version SET version = " + std::to_string(steps.back().version) +
                     "; COMMIT");
}

}  // namespace

void migrate(PostgresqlConnection& connection, std::span<const Migration> steps) {
  check_server(connection);
  for (int attempt = 1;; ++attempt) {
    if (is_store(connection)) {
      if (version_of(connection, steps) == steps.back().version) return;
    } else if (has_tables(connection) && !is_store(connection)) {
      throw Error(Code::unusable,
                  "the database has tables of another program; name another database, or an empty "
                  "schema with ?options=-csearch_path%3Dname");
    }
    try {
      return run_migrations(connection, steps);
    } catch (const Conflict&) {  // another process has made the tables
      connection.session().run_script("ROLLBACK");
      if (attempt == max_attempts) throw;
    }
  }
}

void check_version(PostgresqlConnection& connection) {
  version_of(connection, migrations());
}

void require_newest_schema(PostgresqlConnection& connection) {
  check_server(connection);
  if (!is_store(connection)) {
    throw Error(Code::unusable, "the database has no store; open it for writing once");
  }
  if (version_of(connection, migrations()) == migrations().back().version) return;
  throw Error(
      Code::unusable,
      "the store has an older schema; open it for writing once, or run `comptroller migrate`");
}

}  // namespace comptroller::db::postgresql
