// Finding rows by key in pages gives the rows of SQL, or an error.
#include <algorithm>
#include <filesystem>

#include "db/things.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

constexpr int usual_page_size = 4096;
constexpr const char* columns = "key, number, a, b, c, NULL AS absent";
constexpr std::size_t column_count = 6;

// One connection that reads in one snapshot after another.
struct Lookups {
  explicit Lookups(const std::string& path) : connection(path, SQLITE_OPEN_READONLY) {
    connection.keep_log();
  }

  // Compares all rows by key with those of SQL in one snapshot; returns whether rows could be found
  // by key. In both orders, so that the second finds pages in memory.
  bool are_equal() {
    const Snapshot snapshot(connection);
    auto rows = connection.rows_by_key("things", columns);
    if (!rows) return false;
    for (const std::string direction : {"ASC", "DESC"}) {
      Query all = connection.query("SELECT " + std::string(columns) + " FROM things ORDER BY key " +
                                   direction);
      std::size_t differences = 0;
      while (all.step()) {
        if (!rows->bind(1, all.column(0)).step() ||
            row_of(*rows, column_count) != row_of(all, column_count)) {
          ++differences;
        }
      }
      CHECK(differences == 0);
    }
    return true;
  }
  bool has_lookups(std::string_view selected = columns) {
    const Snapshot snapshot(connection);
    return connection.rows_by_key("things", selected).has_value();
  }

  sqlite::SqliteConnection connection;
};

TEST_CASE("rows found by key are those of SQL, in the file, in the log, and after each commit") {
  const Folder folder;
  const std::string path = folder / "things.db";
  Random random(21);
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, usual_page_size);
  connection.execute("PRAGMA wal_autocheckpoint = 0");
  Lookups lookups(path);
  CHECK(lookups.are_equal());
  for (int round = 0; round < 20; ++round) {
    CAPTURE(round);
    change_things(connection, random, round == 0 ? 1 : 20 * (round % 10), 3 * usual_page_size);
    CHECK(lookups.are_equal());
    if (round % 9 == 3) connection.execute("PRAGMA wal_checkpoint(PASSIVE)");
    if (round % 9 == 8) connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK(lookups.are_equal());
    CHECK(Lookups(path).are_equal());
  }
}

TEST_CASE("rows are found in a log with several regions in its index") {
  const Folder folder;
  const std::string path = folder / "things.db";
  Random random(22);
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, usual_page_size);
  connection.execute("PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = 10");
  change_things(connection, random, 2000, 2000);
  Lookups lookups(path);
  constexpr std::uintmax_t frame = usual_page_size + 24;
  int update = 0;
  for (std::uintmax_t regions = 1; regions <= 3; ++regions) {
    while (std::filesystem::file_size(path + "-wal") < regions * 4096 * frame) {
      connection.execute("UPDATE things SET number = number + 1");
      if (++update % 4 == 0) CHECK(lookups.are_equal());
    }
    CHECK(lookups.are_equal());
  }
  connection.execute("PRAGMA wal_checkpoint(PASSIVE); UPDATE things SET number = number + 1");
  CHECK(lookups.are_equal());
}

TEST_CASE("an unknown key has no row") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, usual_page_size);
  Lookups lookups(path);
  const auto finds = [&](std::int64_t key) {
    const Snapshot snapshot(lookups.connection);
    auto rows = lookups.connection.rows_by_key("things", columns);
    REQUIRE(rows);
    return rows->bind(1, Value::of(key)).step();
  };
  const std::vector<std::int64_t> edges{
      std::numeric_limits<std::int64_t>::min(), -1, 0, 7, 12345, everything};
  CHECK(std::ranges::none_of(edges, finds));
  for (int key = 1; key < 20'000; key += 3) {
    connection.query("INSERT INTO things (key) VALUES (?)").bind(1, Value::of(key)).run();
  }
  CHECK(finds(7));
  CHECK(finds(19'999));
  for (const std::int64_t key : {std::numeric_limits<std::int64_t>::min(), std::int64_t{0},
                                 std::int64_t{8}, std::int64_t{9999}, everything}) {
    CHECK_FALSE(finds(key));
  }
}

TEST_CASE("only SQL reads what pages cannot: expressions, defaults, unusual files") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, usual_page_size);
  connection.execute("ALTER TABLE things ADD COLUMN d DEFAULT 5; ALTER TABLE things ADD COLUMN e");
  Lookups lookups(path);
  CHECK(lookups.has_lookups("key, e"));
  CHECK_FALSE(lookups.has_lookups("key, d"));
  CHECK_FALSE(lookups.has_lookups("a + 1"));
  CHECK_FALSE(lookups.connection.rows_by_key("things", columns));  // no snapshot
  {
    const Snapshot snapshot(lookups.connection);
    const auto first = lookups.connection.rows_by_key("things", columns);
    CHECK(first);
    CHECK_FALSE(lookups.connection.rows_by_key("things", "key"));  // one at a time
    CHECK_FALSE(lookups.connection.scan({"things", {"key"}, 0, 100, {}}));
    CHECK_FALSE(lookups.connection.rows_by_key("no_table", "key"));
  }
  lookups.connection.read_with_sql();
  CHECK_FALSE(lookups.has_lookups("key"));
  for (const std::string pragma : {"encoding = 'UTF-16'", "auto_vacuum = FULL"}) {
    CAPTURE(pragma);
    const std::string unusual = folder / ("unusual" + std::to_string(pragma.back()) + ".db");
    sqlite::SqliteConnection other(unusual, writable);
    other.execute("PRAGMA " + pragma +
                  "; PRAGMA journal_mode = WAL;"
                  "CREATE TABLE things (key INTEGER PRIMARY KEY, a)");
    CHECK_FALSE(Lookups(unusual).has_lookups("a"));
    other.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK_FALSE(Lookups(unusual).has_lookups("a"));
  }
}

TEST_CASE("rows are found in pages of every size") {
  for (const int page_size : {512, 1024, 65'536}) {
    CAPTURE(page_size);
    const Folder folder;
    const std::string path = folder / "things.db";
    Random random(27);
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, page_size);
    connection.execute("PRAGMA wal_autocheckpoint = 0");
    change_things(connection, random, 300, 3 * usual_page_size);
    CHECK(Lookups(path).are_equal());
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
    CHECK(Lookups(path).are_equal());
  }
}

TEST_CASE("lookups follow a change of the schema") {
  const Folder folder;
  const std::string path = folder / "things.db";
  Random random(23);
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, usual_page_size);
  change_things(connection, random, 300, 100);
  Lookups lookups(path);
  CHECK(lookups.are_equal());
  // The table gets other columns at other positions, and another root.
  connection.execute(
      "CREATE TABLE others (c, b, a, number, key INTEGER PRIMARY KEY);"
      "INSERT INTO others SELECT c, b, a, number, key FROM things; DROP TABLE things;"
      "ALTER TABLE others RENAME TO things; INSERT INTO things (key) VALUES (1000000)");
  CHECK(lookups.are_equal());
  connection.execute("VACUUM");
  CHECK(lookups.are_equal());
}

TEST_CASE("rows by key belong to the snapshot while others commit and checkpoint") {
  const Folder folder;
  const std::string path = folder / "things.db";
  {
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, usual_page_size);
    Random random(24);
    change_things(connection, random, 1000, 6000);
  }
  const BusyWriters writers(path);
  Lookups lookups(path);
  int compared = 0;
  for (int read = 0; read < 20'000 && compared < 40; ++read) {
    if (lookups.are_equal()) ++compared;  // else the writers were too busy
  }
  CHECK(compared == 40);
}

TEST_CASE("a damaged page gives the row of SQL, no row or an error") {
  const Folder folder;
  const std::string path = folder / "things.db";
  {
    sqlite::SqliteConnection connection(path, writable);
    make_things(connection, usual_page_size);
    Random random(25);
    change_things(connection, random, 600, 9000);
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string sound = read_file(path);
  Random random(26);
  int errors = 0;
  int equal = 0;
  for (int round = 0; round < 400; ++round) {
    CAPTURE(round);
    std::string damaged = sound;
    for (auto flips = 1 + random() % 20; flips > 0; --flips) {
      const std::size_t page = 1 + random() % (sound.size() / usual_page_size - 1);
      const std::size_t at =
          page * usual_page_size + random() % (random() % 2 == 0 ? 60 : usual_page_size);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    }
    const std::string copy = folder / "damaged.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    write_file(copy, damaged);
    Lookups lookups(copy);
    const Snapshot snapshot(lookups.connection);
    auto by_key = lookups.connection.rows_by_key("things", columns);
    REQUIRE(by_key);
    for (std::int64_t key = 1; key < 300; ++key) {
      std::string found;
      try {
        if (by_key->bind(1, Value::of(key)).step()) found = row_of(*by_key, all_columns.size());
      } catch (const Error& error) {
        CHECK(error.code() == Code::unusable);
        ++errors;
        continue;
      }
      try {
        auto row =
            lookups.connection.query("SELECT key, number, a, b, c FROM things WHERE key = ?");
        // Keys that are not in order hide different rows from different searches.
        if (!row.bind(1, Value::of(key)).step() || found.empty()) continue;
        ++equal;
        CHECK(found == row_of(row, all_columns.size()));
      } catch (const Error&) {  // SQLite checks more than what a lookup reads
        ++errors;
      }
    }
  }
  CHECK(errors > 100);
  CHECK(equal > 300);
}

}  // namespace
}  // namespace comptroller::db
