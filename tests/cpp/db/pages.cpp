// Reading tables from their pages gives the rows of SQL, or an error.
#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>
#include <thread>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db {
namespace {

constexpr int writable = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();
const std::vector<std::string_view> all_columns{"key", "number", "a", "b", "c"};

using Random = std::mt19937_64;

std::string repr(const Value& value) {
  return std::to_string(static_cast<int>(value.kind)) + ":" + std::to_string(value.integer) + ":" +
         std::string(value.bytes);
}

std::vector<std::string> rows_of(Query query, std::size_t columns) {
  std::vector<std::string> rows;
  while (query.step()) {
    std::string& row = rows.emplace_back();
    for (std::size_t index = 0; index < columns; ++index) {
      row += repr(query.column(static_cast<int>(index))) + "|";
    }
  }
  return rows;
}

// A connection with a snapshot.
struct Reader {
  explicit Reader(const std::string& path) : connection(path, SQLITE_OPEN_READONLY) {
    connection.keep_log();
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (const auto commit = connection.begin_present_snapshot()) {
        const auto log = sqlite::LogPages::read(connection.handle(), *commit);
        connection.read_by_pages(*commit, log);
        return;
      }
      connection.end_snapshot();
    }
    connection.begin_snapshot();
  }
  ~Reader() { connection.end_snapshot(); }

  std::optional<Query> scan(std::int64_t from = least, std::int64_t before = everything,
                            std::vector<TableScan::AnyOf> conditions = {},
                            std::optional<TableScan::Range> time = {}) {
    return connection.scan({"things", all_columns, from, before, std::move(conditions), time});
  }
  std::vector<std::string> by_pages() {
    auto rows = scan();
    REQUIRE(rows);
    return rows_of(std::move(*rows), all_columns.size());
  }
  std::vector<std::string> by_sql(const std::string& where = "true") {
    return rows_of(connection.query("SELECT key, number, a, b, c FROM things WHERE " + where +
                                    " ORDER BY key"),
                   all_columns.size());
  }

  static constexpr auto least = std::numeric_limits<std::int64_t>::min();
  sqlite::SqliteConnection connection;
};

void make_things(sqlite::SqliteConnection& connection, int page_size) {
  connection.execute("PRAGMA page_size = " + std::to_string(page_size) +
                     "; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                     "CREATE TABLE things (key INTEGER PRIMARY KEY, number INTEGER, a, b, c);"
                     "CREATE INDEX things_by_number ON things (number)");
}

std::int64_t any_integer(Random& random) {
  constexpr std::int64_t edges[]{0,
                                 1,
                                 -1,
                                 127,
                                 -128,
                                 128,
                                 -129,
                                 32767,
                                 -32769,
                                 8388607,
                                 -8388609,
                                 2147483647,
                                 -2147483649,
                                 140737488355327,
                                 -140737488355329,
                                 std::numeric_limits<std::int64_t>::max(),
                                 std::numeric_limits<std::int64_t>::min()};
  const auto chosen = random() % (2 * std::size(edges));
  return chosen < std::size(edges) ? edges[chosen] : static_cast<std::int64_t>(random());
}

// Inserts a row with values of any kind and size. The key is any, or follows all others with a gap.
void insert_thing(sqlite::SqliteConnection& connection, Random& random, std::size_t longest) {
  const auto any_bytes = [&] {
    const std::size_t size = random() % 4 == 0 ? random() % longest : random() % 40;
    return std::string(size, static_cast<char>('a' + random() % 26));
  };
  Query query = connection.query(
      "INSERT INTO things (key, number, a, b, c)"
      " VALUES (coalesce(?, (SELECT coalesce(max(key), 0) FROM things) + ?), ?, ?, ?, ?)"
      " ON CONFLICT DO NOTHING");
  query.bind(1, random() % 8 == 0 ? Value::of(any_integer(random) / 2) : Value::null());
  query.bind(2,
             Value::of(static_cast<std::int64_t>(1 + (random() % 50 == 0 ? random() % 1000 : 0))));
  query.bind(3, random() % 5 == 0 ? Value::null() : Value::of(std::int64_t(random() % 4)));
  std::vector<std::string> texts(3);
  for (int index = 0; index < 3; ++index) {
    std::string& text = texts[static_cast<std::size_t>(index)] = any_bytes();
    switch (random() % 4) {
      case 0:
        query.bind(4 + index, Value::null());
        break;
      case 1:
        query.bind(4 + index, Value::of(any_integer(random)));
        break;
      case 2:
        query.bind(4 + index, Value::blob(text));
        break;
      default:
        query.bind(4 + index, Value::of(std::string_view(text)));
    }
  }
  query.run();
}

void change_things(sqlite::SqliteConnection& connection, Random& random, int changes,
                   std::size_t longest) {
  connection.execute("BEGIN");
  for (int change = 0; change < changes; ++change) {
    insert_thing(connection, random, longest);
    if (random() % 4 != 0) continue;
    connection
        .query(
            "DELETE FROM things WHERE key IN (SELECT key FROM things WHERE number = ?"
            " ORDER BY key LIMIT 2)")
        .bind(1, Value::of(std::int64_t(random() % 4)))
        .run();
    connection.query("UPDATE things SET b = a, c = 2.5 WHERE key % 97 = ?")
        .bind(1, Value::of(std::int64_t(random() % 97)))
        .run();
  }
  connection.execute("COMMIT");
}

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
  using AnyOf = TableScan::AnyOf;
  for (int round = 0; round < 50; ++round) {
    const std::int64_t from = static_cast<std::int64_t>(random() % 4000) - 100;
    const std::int64_t before = from + static_cast<std::int64_t>(random() % 300);
    CHECK(rows(from, before) ==
          reader.by_sql("key >= " + std::to_string(from) + " AND key < " + std::to_string(before)));
  }
  CHECK(rows(1, everything, std::vector<AnyOf>{{"number", {3, 1}}}) ==
        reader.by_sql("key >= 1 AND number IN (1, 3)"));
  CHECK(rows(1, everything, std::vector<AnyOf>{{"number", {}}}).empty());
  CHECK(rows(1, 2000, std::vector<AnyOf>{{"number", {2}}},
             std::optional(TableScan::Range{"key", 100, 900})) ==
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
    return reader.connection.scan({"things", std::move(columns), 0, everything, {}, {}})
        .has_value();
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
    CHECK_FALSE(without_snapshot.scan({"things", {"key"}, 0, everything, {}, {}}));
  }
  ::setenv("COMPTROLLER_SCAN_WITH_SQL", "1", 1);
  CHECK_FALSE(is_scanned(path, {"key"}));
  ::unsetenv("COMPTROLLER_SCAN_WITH_SQL");
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
  std::atomic<bool> is_done = false;
  std::vector<std::thread> writers;
  for (const std::uint64_t seed : {11U, 12U}) {
    writers.emplace_back([&, seed] {
      sqlite::SqliteConnection connection(path, SQLITE_OPEN_READWRITE);
      connection.execute("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
      Random random(seed);
      for (int commit = 0; !is_done; ++commit) {
        try {
          connection.execute("BEGIN IMMEDIATE");
          insert_thing(connection, random, 6000);
          connection.execute(
              "DELETE FROM things WHERE key IN (SELECT key FROM things"
              " WHERE number = 1 ORDER BY key LIMIT 1)");
          connection.execute("COMMIT");
        } catch (const Error&) {  // busy
          connection.roll_back();
        }
        if (commit % 50 == 0) {
          sqlite3_wal_checkpoint_v2(
              connection.handle(), nullptr,
              seed == 11 ? SQLITE_CHECKPOINT_PASSIVE : SQLITE_CHECKPOINT_RESTART, nullptr, nullptr);
        }
      }
    });
  }
  int by_pages = 0;
  for (int read = 0; read < 20'000 && by_pages < 30; ++read) {
    Reader reader(path);
    auto rows = reader.scan();
    if (!rows) continue;  // the writers were too busy for a snapshot
    ++by_pages;
    CHECK(rows_of(std::move(*rows), all_columns.size()) == reader.by_sql());
  }
  is_done = true;
  for (std::thread& writer : writers) writer.join();
  CHECK(by_pages == 30);
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

TEST_CASE("a damaged log is not read") {
  const Folder folder;
  const std::string path = folder / "things.db";
  sqlite::SqliteConnection connection(path, writable);
  make_things(connection, 1024);
  Random random(7);
  change_things(connection, random, 20, 100);
  const auto is_scanned = [&] {
    try {
      return Reader(path).scan().has_value();
    } catch (const Error&) {  // SQLite itself reported an error
      return false;
    }
  };
  CHECK(is_scanned());
  const std::string sound = read_file(path + "-wal");
  const auto write = [&](std::size_t at, int byte) {
    std::fstream log(path + "-wal", std::ios::in | std::ios::out | std::ios::binary);
    log.seekp(static_cast<std::streamoff>(at)).put(static_cast<char>(byte));
  };
  for (std::size_t at = 0; at < sound.size(); at += 97) {
    CAPTURE(at);
    write(at, sound[at] ^ 16);
    CHECK_FALSE(is_scanned());
    write(at, sound[at]);
  }
  CHECK(is_scanned());
}

}  // namespace
}  // namespace comptroller::db
