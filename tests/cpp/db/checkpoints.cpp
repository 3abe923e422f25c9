// The log is written to the file in time, and the work for that does not grow with a log that
// readers need.
#include <doctest/doctest.h>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "db/sqlite/database.hpp"

namespace comptroller::db {
namespace {

constexpr std::uint32_t due = 4000;  // frames

// A reader of another program, and what it sees of the log.
struct Reader {
  explicit Reader(const std::string& path) : connection(path, SQLITE_OPEN_READONLY) {
    connection.keep_log();
    connection.read_now();
  }
  std::uint32_t frames() const {
    return sqlite_format::LastCommit::read(connection.handle()).value().frames();
  }
  std::uint32_t in_file() const {
    return sqlite_format::count_backfilled(connection.handle()).value();
  }

  sqlite::SqliteConnection connection;
};

void write(Database& database, std::size_t bytes) {
  const std::string text(bytes, 'x');
  database.write([&](Connection& connection) {
    connection.run("INSERT INTO secrets (name, value) VALUES (hex(randomblob(8)), ?)",
                   Value::blob(text));
  });
}

void write_bulk(Database& database) {
  database.write_bulk([](Connection& connection) {
    connection.run("INSERT INTO secrets (name, value) VALUES (hex(randomblob(8)), x'78')");
    return true;
  });
}

// Writes until the log has `frames` frames.
void write_until(Database& database, const Reader& reader, std::uint32_t frames) {
  while (reader.frames() < frames) write(database, 400'000);
}

// Writes until the log has begun again, and returns the most frames that it had.
std::uint32_t write_until_restart(Database& database, const Reader& reader, std::size_t bytes) {
  std::uint32_t most = 0;
  for (std::uint32_t now = reader.frames(); now >= most; now = reader.frames()) {
    most = now;
    REQUIRE(most < 10 * due);
    write(database, bytes);
  }
  return most;
}

TEST_CASE("a log without readers is written to the file, and begins again") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  const Reader other(folder / "a.db");
  write_until(*database, other, due);
  CHECK(other.in_file() == other.frames());
  write(*database, 10);
  CHECK(other.frames() < 100);
}

TEST_CASE("while a reader needs the log, attempts are as far apart as what they leave is long") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  Reader other(folder / "a.db");
  Reader pinning(folder / "a.db");
  bool is_bulk = false;
  SUBCASE("with single writes") {}
  SUBCASE("with bulk writes") {
    is_bulk = true;
  }
  const auto write_one = [&] { is_bulk ? write_bulk(*database) : write(*database, 10); };
  sqlite::SqliteConnection(folder / "a.db", SQLITE_OPEN_READWRITE)
      .execute("PRAGMA wal_checkpoint(TRUNCATE)");

  pinning.connection.begin_present_snapshot();  // which no frame of the log can be written before
  write_until(*database, other, due + 500);
  const std::uint32_t attempted = other.frames();
  pinning.connection.end_snapshot();
  for (int count = 0; count < 50; ++count) write_one();
  CHECK(other.in_file() == 0);  // none of these writes tried again
  REQUIRE(other.frames() > attempted);
  CHECK(write_until_restart(*database, other, 400'000) < 2 * due + 500);
}

TEST_CASE("soon after a reader left a few frames in the log, they are written") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  const Reader other(folder / "a.db");
  Reader late(folder / "a.db");
  write_until(*database, other, due - 200);
  late.connection.begin_present_snapshot();
  write_until(*database, other, due);
  CHECK(other.in_file() > due - 300);
  CHECK(other.in_file() < other.frames());
  late.connection.end_snapshot();
  CHECK(write_until_restart(*database, other, 10) < due + 1000);
}

TEST_CASE("the file of a log that a reader let grow is cut when the log begins again") {
  const Folder folder;
  const auto database = sqlite::open(folder / "a.db", {});
  Reader other(folder / "a.db");
  Reader pinning(folder / "a.db");
  sqlite::SqliteConnection(folder / "a.db", SQLITE_OPEN_READWRITE)
      .execute("PRAGMA wal_checkpoint(TRUNCATE)");
  pinning.connection.begin_present_snapshot();
  CHECK(database->log_size().pending == 0);
  while (database->log_size().pending < large_log + (4U << 20U)) write(*database, 4'000'000);
  CHECK(database->log_size().bytes == database->log_size().pending);
  pinning.connection.end_snapshot();
  write_until_restart(*database, other, 400'000);
  CHECK(database->log_size().pending < large_log);
  CHECK(std::filesystem::file_size(folder / "a.db-wal") <= large_log);
}

}  // namespace
}  // namespace comptroller::db
