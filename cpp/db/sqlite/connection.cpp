#include "db/sqlite/connection.hpp"

#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

const char* reason(int result) {
  switch (result & 0xFF) {
    case SQLITE_FULL:
      return "the disk is full; free some space and try again";
    case SQLITE_IOERR:
      return "the disk reported an I/O error";
    case SQLITE_NOMEM:
      return "out of memory";
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return "the store cannot be written; check the permissions of its file and folder";
    case SQLITE_CANTOPEN:
      return "the store cannot be opened; check that its folder exists and may be written";
    case SQLITE_CORRUPT:
      return "the store is damaged; restore a backup";
    case SQLITE_NOTADB:
      return "the file is not a comptroller store";
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return "another program holds the store; try again";
    case SQLITE_INTERRUPT:
      return "interrupted";
    default:
      return nullptr;
  }
}

}  // namespace

void throw_failure(int result) {
  if (const char* text = reason(result)) throw Error(Code::unavailable, text);
  throw Error(Code::internal, "the store failed with SQLite result " + std::to_string(result));
}

void SqliteConnection::fail(int result) {
  throw_failure(result);
}

SqliteConnection::SqliteConnection(const std::string& path, int flags) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, flags | SQLITE_OPEN_NOMUTEX, nullptr);
  handle_.reset(handle);
  check(result);
  check(sqlite3_busy_timeout(handle, busy_timeout_ms));
  check(sqlite3_extended_result_codes(handle, 1));
}

SqliteConnection::~SqliteConnection() = default;

void SqliteConnection::execute(const std::string& sql) {
  check(sqlite3_exec(handle_.get(), sql.c_str(), nullptr, nullptr, nullptr));
}

std::int64_t SqliteConnection::last_inserted_key() {
  return sqlite3_last_insert_rowid(handle_.get());
}

std::int64_t SqliteConnection::changed_rows() {
  return sqlite3_changes64(handle_.get());
}

}  // namespace comptroller::db::sqlite
