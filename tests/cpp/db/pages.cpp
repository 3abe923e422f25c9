// Reading tables from their pages gives the rows of SQL, or an error.
#include <filesystem>
#include <fstream>

#include "db/things.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

TEST_CASE("pages of any size give the rows of SQL") {
  for (const int page_size : {512, 1024, 4096, 8192, 65536}) {
    CAPTURE(page_size);
    const Folder folder;
    const std::string path = folder / "things.db";
    Random random(static_cast<std::uint64_t>(page_size));
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, page_size);
    CHECK(Reader(path).by_pages().empty());
    for (int round = 0; round < 12; ++round) {
      CAPTURE(round);
      // One row, one leaf, or many leaves with long records; in the log, in the file, or in both.
      change_things(connection, random, round == 0 ? 1 : round * 25, 3 * 4096);
      if (round % 3 == 0) connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      if (round % 3 == 1) connection.execute("PRAGMA wal_checkpoint(PASSIVE)");
      Reader reader(path);
      CHECK(reader.by_pages() == reader.by_sql());
    }
    CHECK(sqlite3_total_changes(connection.handle()) > 1000);
  }
}

TEST_CASE("integers of every size are read from short records") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 4096);
  connection.execute("CREATE TABLE short (key INTEGER PRIMARY KEY, number INTEGER)");
  for (int bits = 0; bits < 64; ++bits) {
    const std::string number = std::to_string(std::int64_t{1} << bits);
    connection.execute("INSERT INTO short (number) VALUES (" + number + "), (~" + number + ")");
  }
  Reader reader(path);
  auto rows = reader.connection.scan({"short", {"number", "key", "number"}, 1, everything, {}});
  REQUIRE(rows);
  CHECK(rows_of(std::move(*rows), 3) ==
        rows_of(reader.connection.query("SELECT number, key, number FROM short ORDER BY key"), 3));
}

TEST_CASE("a scan reads a range of keys, and filters") {
  const Folder folder;
  const std::string path = folder / "things.db";
  Random random(1);
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 1024);
  change_things(connection, random, 3000, 100);
  Reader reader(path);
  const auto rows = [&](auto... scan) {
    auto query = reader.scan(scan...);
    REQUIRE(query);
    return rows_of(std::move(*query), all_columns.size());
  };
  using Conditions = std::vector<TableScan::Condition>;
  for (int round = 0; round < 50; ++round) {
    const std::int64_t from = static_cast<std::int64_t>(random() % 4000) - 100;
    const std::int64_t before = from + static_cast<std::int64_t>(random() % 300);
    CHECK(rows(from, before) ==
          reader.by_sql("key >= " + std::to_string(from) + " AND key < " + std::to_string(before)));
  }
  CHECK(rows(1, everything, Conditions{{"number", {3, 1}}}) ==
        reader.by_sql("key >= 1 AND number IN (1, 3)"));
  CHECK(rows(1, everything, Conditions{{"number", {}}}).empty());
  CHECK(rows(1, 2000, Conditions{{"number", {2}}, {"key", {100, 900}, true}}) ==
        reader.by_sql("key >= 100 AND key < 900 AND number = 2"));
}

TEST_CASE("tables that only SQL can evaluate are not scanned") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 4096);
  connection.execute("ALTER TABLE things ADD COLUMN d DEFAULT 5; ALTER TABLE things ADD COLUMN e");
  const auto is_scanned = [&](const std::string& file, std::vector<std::string_view> columns) {
    Reader reader(file);
    return reader.connection.scan({"things", std::move(columns), 0, everything, {}}).has_value();
  };
  CHECK(is_scanned(path, {"key", "e"}));
  CHECK_FALSE(is_scanned(path, {"key", "d"}));
  CHECK_FALSE(is_scanned(path, {"NULL"}));
  CHECK_FALSE(is_scanned(path, {"a + 1"}));
  {
    Reader reader(path);
    const auto first = reader.scan();
    CHECK(first);
    CHECK_FALSE(reader.scan());  // one at a time
  }
  {
    sqlite::SqliteConnection without_snapshot(path, SQLITE_OPEN_READONLY);
    CHECK_FALSE(without_snapshot.scan({"things", {"key"}, 0, everything, {}}));
  }
  {
    sqlite::SqliteConnection with_sql(path, SQLITE_OPEN_READONLY);
    with_sql.read_with_sql();
    CHECK(with_sql.begin_present_snapshot());
    CHECK_FALSE(with_sql.scan({"things", {"key"}, 0, everything, {}}));
    with_sql.end_snapshot();
  }
  for (const std::string pragma : {"auto_vacuum = 1", "encoding = 'UTF-16'", ""}) {
    CAPTURE(pragma);
    const std::string unusual = folder / ("unusual" + std::to_string(pragma.size()) + ".db");
    sqlite::SqliteConnection other(unusual, writable);
    if (!pragma.empty()) other.execute("PRAGMA " + pragma);
    make_things(other, 4096);
    CHECK(is_scanned(unusual, {"key"}) == pragma.empty());
    other.execute("PRAGMA wal_checkpoint(TRUNCATE); PRAGMA journal_mode = DELETE");
    CHECK_FALSE(is_scanned(unusual, {"key"}));
  }
}

TEST_CASE("a snapshot does not change while others commit and checkpoint") {
  const Folder folder;
  const std::string path = folder / "things.db";
  {
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, 4096);
    Random random(3);
    change_things(connection, random, 2000, 6000);
  }
  const BusyWriters writers(path);
  int by_pages = 0;
  for (int read = 0; read < 20'000 && by_pages < 30; ++read) {
    Reader reader(path);
    auto rows = reader.scan();
    if (!rows) continue;  // the writers were too busy for a snapshot
    ++by_pages;
    CHECK(rows_of(std::move(*rows), all_columns.size()) == reader.by_sql());
  }
  CHECK(by_pages == 30);
}

TEST_CASE("a snapshot keeps its pages during checkpoints of its commit and of later ones") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 4096);
  connection.execute("PRAGMA wal_autocheckpoint = 0");
  Random random(5);
  change_things(connection, random, 500, 6000);
  Reader reader(path);
  const std::vector<std::string> rows = reader.by_sql();
  connection.execute("PRAGMA wal_checkpoint(PASSIVE)");
  CHECK(reader.by_pages() == rows);
  connection.execute("DELETE FROM things WHERE key % 2 = 0; UPDATE things SET a = 'changed'");
  connection.execute("PRAGMA wal_checkpoint(PASSIVE)");
  CHECK(reader.by_pages() == rows);
  CHECK(reader.by_sql() == rows);
}

TEST_CASE("SQL reads if a commit follows before the first read of a transaction") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection writer(path, writable);
  make_things(writer, 4096);
  sqlite::SqliteConnection connection(path, SQLITE_OPEN_READONLY);
  connection.keep_log();
  const TableScan scan{"things", all_columns, Reader::least, everything, {}};
  for (const bool is_followed : {false, true, false}) {
    connection.begin_snapshot();
    if (is_followed) writer.execute("INSERT INTO things (number) VALUES (1)");
    CHECK(connection.scan(scan).has_value() != is_followed);
    CHECK(connection.rows_by_key("things", "key, number").has_value() != is_followed);
    connection.end_snapshot();
  }
}

TEST_CASE("a damaged page gives the rows of SQL or an error") {
  const Folder folder;
  const std::string path = folder / "things.db";
  {
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, 1024);
    Random random(5);
    change_things(connection, random, 150, 3000);
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string sound = read_file(path);
  Random random(6);
  int errors = 0;
  int equal = 0;
  for (int round = 0; round < 1000; ++round) {
    CAPTURE(round);
    std::string damaged = sound;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      // Every second flip is at the beginning of a page, where its structure is.
      const std::size_t page = 1 + random() % (sound.size() / 1024 - 1);
      const std::size_t at = page * 1024 + random() % (random() % 2 == 0 ? 40 : 1024);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    }
    const std::string copy = folder / "damaged.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    write_file(copy, damaged);
    std::optional<std::vector<std::string>> by_sql;
    std::optional<std::vector<std::string>> by_pages;
    try {
      by_sql = Reader(copy).by_sql();
    } catch (const Error&) {
      ++errors;
    }
    try {
      Reader reader(copy);
      auto rows = reader.scan();
      if (!rows) continue;
      by_pages = rows_of(std::move(*rows), all_columns.size());
    } catch (const Error& error) {
      CHECK(error.code() == Code::unusable);
      continue;
    }
    if (by_sql) CHECK(*by_pages == *by_sql);
    ++equal;
  }
  CHECK(errors > 50);
  CHECK(equal > 100);
}

TEST_CASE("a value that ends beyond its record is damage, even if only a later column is read") {
  const Folder folder;
  const std::string path = folder / "things.db";
  {
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, 4096);
    connection.execute("CREATE TABLE pairs (key INTEGER PRIMARY KEY, first TEXT, second TEXT)");
    connection.execute("INSERT INTO pairs (first, second) VALUES ('xx', 'yy')");
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  std::string bytes = read_file(path);
  const std::size_t record = bytes.find(std::string_view("\x04\x00\x11\x11xxyy", 8));
  REQUIRE(record != std::string::npos);
  bytes[record + 2] = '\x7f';  // a text of 57 bytes
  write_file(path, bytes);
  Reader reader(path);
  auto rows = reader.connection.scan({"pairs", {"second"}, 1, everything, {}});
  REQUIRE(rows);
  CHECK_THROWS_AS(rows_of(std::move(*rows), 1), Error);
}

// SQLite verifies the checksums of a log only when it recovers the log's index.
TEST_CASE("a damaged log gives the rows of SQL or an error") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 1024);
  Random random(7);
  change_things(connection, random, 20, 3000);
  int scans = 0;
  const auto read = [&](bool by_pages) -> std::optional<std::vector<std::string>> {
    try {
      Reader reader(path);
      auto rows = by_pages ? reader.scan() : std::nullopt;
      scans += rows ? 1 : 0;
      return rows ? rows_of(std::move(*rows), all_columns.size()) : reader.by_sql();
    } catch (const Error&) {
      return std::nullopt;
    }
  };
  const auto undamaged = read(false);
  const std::string sound = read_file(path + "-wal");
  const auto write = [&](std::size_t at, int byte) {
    std::fstream log(path + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte));
  };
  int different = 0;
  int errors = 0;
  for (std::size_t at = 0; at < sound.size(); at += 97) {
    CAPTURE(at);
    write(at, sound[at] ^ 16);
    const auto by_pages = read(true);
    const auto by_sql = read(false);
    if (by_pages && by_sql) CHECK(*by_pages == *by_sql);
    if (by_pages != undamaged) ++(by_pages ? different : errors);
    write(at, sound[at]);
  }
  CHECK(scans > 50);
  CHECK(different > 20);
  CHECK(errors > 5);
  CHECK(read(true) == undamaged);
}

}  // namespace
}  // namespace comptroller::db
