#include <doctest/doctest.h>
#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>

#include "db/folder.hpp"
#include "db/sqlite/database.hpp"
#include "db/sqlite/migrations.hpp"
#include "db/sqlite/readers.hpp"
#include "db/sqlite/schema.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

const sqlite::OpenOptions to_write{};
const sqlite::OpenOptions to_read{.read_only = true};

// Returns the detail of an unusable error when opening a file; empty if it opens.
std::string refusal(const std::string& path, const sqlite::OpenOptions& options) {
  try {
    sqlite::open(path, options);
    return "";
  } catch (const Error& error) {
    CHECK(error.code() == Code::unusable);
    CHECK(error.detail().find(path) != std::string::npos);  // the path appears once
    CHECK(error.detail().find(path) == error.detail().rfind(path));
    return error.detail();
  }
}

// Runs SQL on a file as another program would.
void run_sql(const std::string& path, const std::string& sql) {
  sqlite3* connection = nullptr;
  REQUIRE(sqlite3_open(path.c_str(), &connection) == SQLITE_OK);
  CHECK(sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr) == SQLITE_OK);
  sqlite3_close(connection);
}

std::int64_t number(Database& database, std::string_view sql) {
  const Lease reader = database.reader();
  Query query = reader->query(sql);
  REQUIRE(query.step());
  return query.column(0).integer;
}

void add_customer(Database& database, std::int64_t key) {
  database.write([&](Connection& connection) {
    connection.execute("INSERT INTO customers (key) VALUES (" + std::to_string(key) + ")");
  });
}

TEST_CASE("a missing file is created, marked and migrated to the newest schema") {
  const Folder folder;
  const auto database = sqlite::open(folder / "new.db", to_write);
  CHECK(database->is_writable());
  CHECK(number(*database, "PRAGMA application_id") == sqlite::application_id);
  CHECK(number(*database, "PRAGMA user_version") == sqlite::migrations().back().version);
  CHECK(number(*database, "SELECT count(*) FROM customers") == 0);
}

TEST_CASE("an empty file becomes a store") {
  const Folder folder;
  write_file(folder / "empty.db", "");
  CHECK_NOTHROW(sqlite::open(folder / "empty.db", to_write));
}

TEST_CASE("a store that is opened again has the earlier writes") {
  const Folder folder;
  {
    const auto database = sqlite::open(folder / "a.db", to_write);
    add_customer(*database, 7);
  }
  CHECK_FALSE(
      folder.names().contains("a.db-wal"));  // the last connection to close checkpoints the log
  const auto database = sqlite::open(folder / "a.db", to_write);
  CHECK(number(*database, "SELECT key FROM customers") == 7);
}

TEST_CASE("all paths to a file open one store") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", to_write);
  std::filesystem::create_symlink(folder / "a.db", folder / "link.db");
  const auto linked = sqlite::open(folder / "link.db", to_write);
  add_customer(*linked, 8);
  CHECK(number(*database, "SELECT key FROM customers") == 8);
  CHECK_FALSE(folder.names().contains("link.db-lock"));
  CHECK(database->owns(folder / "link.db"));
  CHECK(database->owns(folder / "a.db-wal"));
  CHECK_FALSE(database->owns(folder / "b.db"));
}

TEST_CASE("a file that is not a store is refused and unchanged") {
  const Folder folder;
  write_file(folder / "short.txt", "hello");
  write_file(folder / "long.txt", std::string(100'000, 'x'));
  run_sql(folder / "other.db", "CREATE TABLE t (a)");
  run_sql(folder / "marked.db", "PRAGMA application_id = 42");
  run_sql(folder / "versioned.db", "PRAGMA user_version = 1");
  for (const char* name : {"short.txt", "long.txt", "other.db", "marked.db", "versioned.db"}) {
    CAPTURE(name);
    const std::string before = read_file(folder / name);
    for (const auto& options : {to_write, to_read}) {
      CHECK(refusal(folder / name, options).find("not a comptroller store") != std::string::npos);
    }
    CHECK(read_file(folder / name) == before);
  }
}

TEST_CASE("opening creates no file beside a file of another program") {
  const Folder folder;
  run_sql(folder / "a.db", "CREATE TABLE t (a)");
  run_sql(folder / "b.db", "PRAGMA journal_mode = WAL; CREATE TABLE t (a)");
  sqlite3* user = nullptr;  // has a log and its index
  REQUIRE(sqlite3_open((folder / "c.db").c_str(), &user) == SQLITE_OK);
  const char* sql = "PRAGMA journal_mode = WAL; CREATE TABLE t (a); PRAGMA wal_checkpoint";
  REQUIRE(sqlite3_exec(user, sql, nullptr, nullptr, nullptr) == SQLITE_OK);
  write_file(folder / "d.txt", "hello");
  const std::set<std::string> before = folder.names();
  for (const char* name : {"a.db", "b.db", "c.db", "d.txt"}) {
    CAPTURE(name);
    for (const auto& options : {to_write, to_read}) {
      CHECK(refusal(folder / name, options).find("not a comptroller store") != std::string::npos);
    }
  }
  CHECK(folder.names() == before);
  sqlite3_close(user);
}

TEST_CASE("a store that cannot have a write-ahead log is refused") {
  const Folder folder;
  sqlite3_vfs* const usual = sqlite3_vfs_find(nullptr);
  sqlite3_vfs* const without_shared_memory = sqlite3_vfs_find("unix-dotfile");
  REQUIRE(without_shared_memory != nullptr);
  REQUIRE(sqlite3_vfs_register(without_shared_memory, 1) == SQLITE_OK);
  const std::string refused = refusal(folder / "a.db", to_write);
  REQUIRE(sqlite3_vfs_register(usual, 1) == SQLITE_OK);
  CHECK(refused.find("write-ahead log") != std::string::npos);
  CHECK(refusal(folder / "a.db", to_write).empty());
}

TEST_CASE("a store whose journal mode was changed gets its write-ahead log again") {
  const Folder folder;
  sqlite::open(folder / "a.db", to_write).reset();
  run_sql(folder / "a.db", "PRAGMA journal_mode = DELETE");
  CHECK(number(*sqlite::open(folder / "a.db", to_write),
               "SELECT count(*) FROM pragma_journal_mode WHERE journal_mode = 'wal'") == 1);
}

TEST_CASE("opening a store keeps the locks of its other connections") {
  const Folder folder;
  const auto first = sqlite::open(folder / "a.db", to_write);
  add_customer(*first, 7);
  const auto second = sqlite::open(folder / "a.db", to_write);
  const pid_t child = ::fork();
  if (child == 0) {
    // The last connection to close removes the log; while `first` has its locks, this is not the
    // last.
    const std::string program = "import sqlite3; store = sqlite3.connect('" + (folder / "a.db") +
                                "'); store.execute('SELECT * FROM customers').fetchall()";
    ::execlp("python3", "python3", "-c", program.c_str(), nullptr);
    ::_exit(127);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(std::filesystem::exists(folder / "a.db-wal"));
}

using Idle = IdleConnections<sqlite::SqliteConnection>;

// Lends so many readers at once; returns how many of them an earlier call has lent, too.
std::size_t lend_again(Database& database, std::size_t count) {
  std::vector<Lease> leases;
  while (leases.size() < count) leases.push_back(database.reader());
  std::size_t used_before = 0;
  for (const Lease& lease : leases) {
    if (lease->query("SELECT 1 FROM sqlite_temp_schema").step()) ++used_before;
    lease->execute("CREATE TEMP TABLE IF NOT EXISTS used_before (a)");
  }
  return used_before;
}

TEST_CASE("a returned reader is closed when too many are idle") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", to_write);
  CHECK(lend_again(*database, 64) == 0);
  CHECK(lend_again(*database, 64) == Idle::max_count);
}

TEST_CASE("a reader that many loans did not need is closed") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", to_write);
  CHECK(lend_again(*database, 8) == 0);
  for (std::uint64_t loan = 8; loan < Idle::max_unused_loans; ++loan) database->reader();
  CHECK(lend_again(*database, 8) == 8);
  for (std::uint64_t loan = 0; loan < Idle::max_unused_loans + 10; ++loan) {
    CHECK(lend_again(*database, 1) == 1);
  }
  CHECK(lend_again(*database, 8) == 1);
}

TEST_CASE("a store of a newer version is refused and unchanged") {
  const Folder folder;
  sqlite::open(folder / "a.db", to_write).reset();
  run_sql(folder / "a.db", "PRAGMA user_version = 9999");
  const std::string before = read_file(folder / "a.db");
  for (const auto& options : {to_write, to_read}) {
    CHECK(refusal(folder / "a.db", options).find("newer") != std::string::npos);
  }
  CHECK(read_file(folder / "a.db") == before);
}

TEST_CASE("an older schema is migrated when opened for writing, refused when read-only") {
  const Folder folder;
  run_sql(folder / "old.db",
          "PRAGMA application_id = " + std::to_string(sqlite::application_id) + "; VACUUM");
  CHECK(refusal(folder / "old.db", to_read).find("older schema") != std::string::npos);
  CHECK(number(*sqlite::open(folder / "old.db", to_write), "PRAGMA user_version") ==
        sqlite::migrations().back().version);
  CHECK(refusal(folder / "old.db", to_read).empty());
}

TEST_CASE("a folder, a path through a file and a path in a missing folder cannot be opened") {
  const Folder folder;
  std::filesystem::create_directory(folder / "folder");
  write_file(folder / "file", "x");
  for (const std::string& path : {folder / "folder", folder / "file/a.db", folder / "none/a.db"}) {
    CAPTURE(path);
    for (const auto& options : {to_write, to_read}) {
      CHECK_FALSE(refusal(path, options).empty());
    }
  }
  for (const std::string& name : folder.names()) CHECK((name == "file" || name == "folder"));
}

TEST_CASE("opening a missing file read-only creates no file") {
  const Folder folder;
  CHECK(refusal(folder / "none.db", to_read).find("no file") != std::string::npos);
  CHECK(folder.names().empty());
}

TEST_CASE("a read-only store changes no file and creates no lock file") {
  const Folder folder;
  const Folder copies;
  {
    const auto database = sqlite::open(folder / "a.db", to_write);
    add_customer(*database, 7);
  }
  std::filesystem::copy_file(folder / "a.db", copies / "copy.db");
  const std::string before = read_file(copies / "copy.db");
  {
    const auto database = sqlite::open(copies / "copy.db", to_read);
    CHECK_FALSE(database->is_writable());
    CHECK(number(*database, "SELECT key FROM customers") == 7);
    CHECK_THROWS_AS(add_customer(*database, 8), Error);
    CHECK_THROWS_AS(database->write_bulk([](Connection&) { return true; }), Error);
  }
  CHECK(copies.names() == std::set<std::string>{"copy.db"});
  CHECK(read_file(copies / "copy.db") == before);
}

TEST_CASE("a read-only store removes no log that another connection uses") {
  const Folder folder;
  sqlite::open(folder / "a.db", to_write).reset();
  auto first = sqlite::open(folder / "a.db", to_read);
  auto second = sqlite::open(folder / "a.db", to_read);
  first.reset();
  CHECK(folder.names().contains("a.db-wal"));
  auto writer = sqlite::open(folder / "a.db", to_write);
  add_customer(*writer, 7);
  CHECK(number(*second, "SELECT key FROM customers") == 7);
  second.reset();
  CHECK(std::filesystem::file_size(folder / "a.db-wal") > 0);
  CHECK(number(*writer, "SELECT key FROM customers") == 7);
}

TEST_CASE("a copy without its log is refused, and is not made an empty store") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", to_write);
  add_customer(*database, 7);
  std::filesystem::copy_file(folder / "a.db", folder / "copy.db");
  const std::string before = read_file(folder / "copy.db");
  REQUIRE(before.size() == 4096);
  const auto check_refused = [&] {
    for (const auto& options : {to_read, to_write}) {
      const std::string refused = refusal(folder / "copy.db", options);
      CHECK(refused.find("is a copy without its log") != std::string::npos);
      CHECK(refused.find("open it for writing") == std::string::npos);
    }
    CHECK(read_file(folder / "copy.db") == before);
  };
  check_refused();
  for (const char* lock : {"copy.db-lock", "copy.db-opening-lock"}) {
    std::filesystem::remove(folder / lock);
  }
  write_file(folder / "copy.db-wal", "");  // as a program that read the copy leaves it
  check_refused();
  std::filesystem::copy_file(folder / "a.db-wal", folder / "copy.db-wal",
                             std::filesystem::copy_options::overwrite_existing);
  CHECK(number(*sqlite::open(folder / "copy.db", to_read), "SELECT key FROM customers") == 7);
}

TEST_CASE("a store whose creation was interrupted is created when it is opened again") {
  const Folder folder;
  write_file(folder / "a.db-lock", "");
  run_sql(folder / "a.db", "PRAGMA journal_mode = WAL");
  write_file(folder / "a.db-wal", "");
  CHECK(refusal(folder / "a.db", to_read).find("is empty") != std::string::npos);
  CHECK(number(*sqlite::open(folder / "a.db", to_write), "SELECT count(*) FROM customers") == 0);
}

TEST_CASE("a store can be read while it is written") {
  const Folder folder;
  const auto writer = sqlite::open(folder / "a.db", to_write);
  const auto reader = sqlite::open(folder / "a.db", to_read);
  add_customer(*writer, 7);
  CHECK(number(*reader, "SELECT key FROM customers") == 7);
}

TEST_CASE("a temporary store is removed when it is closed") {
  const Folder folder;
  const char* before = ::getenv("TMPDIR");
  const std::string kept = before == nullptr ? "" : before;
  ::setenv("TMPDIR", (folder / "").c_str(), 1);
  {
    const auto database = sqlite::open("", {.is_temporary = true});
    add_customer(*database, 7);
    CHECK_FALSE(folder.names().empty());
  }
  CHECK(folder.names().empty());
  before == nullptr ? ::unsetenv("TMPDIR") : ::setenv("TMPDIR", kept.c_str(), 1);
}

TEST_CASE("a path may have any characters") {
  const Folder folder;
  const std::string path = folder / "a b?c#d%41&e=\xc3\xa9.db";
  add_customer(*sqlite::open(path, to_write), 7);
  CHECK(number(*sqlite::open(path, to_read), "SELECT key FROM customers") == 7);
}

}  // namespace
}  // namespace comptroller::db
