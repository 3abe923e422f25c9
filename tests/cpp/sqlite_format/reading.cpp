// Scans and lookups give the rows of SQL, or decline, or report damage.
#include <doctest/doctest.h>

#include <array>

#include "sqlite_format/rows.hpp"

namespace sqlite_format {
namespace {

TEST_CASE("rows are those of SQL, in the file, in the WAL and in both") {
  for (const int page_size : {512, 1024, 4096, 65536}) {
    CAPTURE(page_size);
    const Folder folder;
    const std::string path = folder / "things.db";
    const Connection writer(path);
    make_things(writer, page_size);
    Random random(static_cast<std::uint64_t>(page_size));
    for (int round = 0; round < 9; ++round) {
      CAPTURE(round);
      change_things(writer, random, round == 0 ? 1 : round * 20, 12'000);
      if (round % 3 == 1) writer.execute("PRAGMA wal_checkpoint(PASSIVE)");
      if (round % 3 == 2) writer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
      Reader reader(path);
      REQUIRE(reader.is_supported());
      const Rows rows = reader.by_sql();
      CHECK(reader.by_scan() == rows);
      CHECK(reader.by_lookup() == rows);
      // The pages stay those of the transaction.
      change_things(writer, random, 5, 100);
      writer.execute("PRAGMA wal_checkpoint(PASSIVE)");
      CHECK(reader.by_scan() == rows);
    }
  }
}

TEST_CASE("a scan reads the keys of a range") {
  const Folder folder;
  const std::string path = folder / "things.db";
  const Connection writer(path);
  make_things(writer, 512);
  for (int key = 1; key <= 900; ++key) {
    writer.execute("INSERT INTO things (key) VALUES (" + std::to_string(3 * key) + ")");
  }
  Reader reader(path);
  const auto count = [&](std::int64_t first, std::int64_t last) {
    return reader.by_scan(first, last).size();
  };
  CHECK(count(1, 2) == 0);
  CHECK(count(3, 3) == 1);
  CHECK(count(4, 9) == 2);
  CHECK(count(2699, max_key) == 1);
  CHECK(count(2701, max_key) == 0);
  CHECK(count(min_key, 0) == 0);
}

TEST_CASE("files of several versions of SQLite") {
  for (const char* version : {"3.40.0", "3.46.1", "3.54.1"}) {
    for (const char* page_size : {"512", "1024"}) {
      const std::string name = std::string(version) + "-" + page_size + ".sqlite";
      CAPTURE(name);
      const Folder folder;
      const std::string path = folder / name;
      for (const char* suffix : {"", "-wal"}) {
        write_file(path + suffix, read_file(GOLDEN_FILES "/" + name + suffix));
      }
      Reader reader(path);
      REQUIRE(reader.is_supported());
      const Rows rows = reader.by_sql();
      CHECK(rows.size() == 56);
      CHECK(reader.by_scan() == rows);
      CHECK(reader.by_lookup() == rows);
    }
  }
}

TEST_CASE("what is not supported is declined") {
  struct Case {
    const char* pragmas;
    const char* table;
    bool is_supported;
    bool has_table;
  };
  for (const auto& [pragmas, table, is_supported, has_table] : std::initializer_list<Case>{
           {"", "things (key INTEGER PRIMARY KEY, a)", true, true},
           {"PRAGMA encoding = 'UTF-16'", "things (key INTEGER PRIMARY KEY, a)", false, false},
           {"PRAGMA auto_vacuum = 1", "things (key INTEGER PRIMARY KEY, a)", false, false},
           {"", "things (a)", true, false},
           {"", "things (a PRIMARY KEY) WITHOUT ROWID", true, false},
           {"", "things (key INTEGER PRIMARY KEY, a, b AS (a + 1))", true, false},
           {"", "others (key INTEGER PRIMARY KEY)", true, false}}) {
    CAPTURE(pragmas);
    CAPTURE(table);
    const Folder folder;
    const std::string path = folder / "things.db";
    const Connection writer(path);
    writer.execute(pragmas);
    writer.execute("PRAGMA journal_mode = WAL; CREATE TABLE " + std::string(table));
    Reader reader(path);
    CHECK(reader.is_supported() == is_supported);
    if (!is_supported) continue;
    constexpr std::array<std::string_view, 1> a{"a"};
    CHECK((reader.snapshot().lookup("things", a) != nullptr) == has_table);
  }
  const Folder folder;
  const Connection without_wal(folder / "rollback.db");
  without_wal.execute("CREATE TABLE things (key INTEGER PRIMARY KEY)");
  CHECK_FALSE(LastCommit::read(without_wal.handle()));
  CHECK_FALSE(count_backfilled(without_wal.handle()));
  CHECK_FALSE(std::filesystem::exists(folder / "rollback.db-shm"));
  CHECK_FALSE(has_wal(without_wal.handle()));
  CHECK_FALSE(is_wal_file(without_wal.handle()));
}

TEST_CASE("a transaction that begins beside a commit is declined") {
  const Folder folder;
  const std::string path = folder / "things.db";
  const Connection writer(path);
  make_things(writer, 4096);
  const Connection reader(path);
  reader.execute("SELECT * FROM things");
  const auto snapshot = Snapshot::make(reader.handle());
  for (const bool is_followed : {false, true, false}) {
    const auto before = LastCommit::read(reader.handle());
    REQUIRE(before);
    if (is_followed) writer.execute("INSERT INTO things (a) VALUES (1)");
    reader.execute("BEGIN; SELECT * FROM things");
    CHECK(snapshot->follow(*before) != is_followed);
    reader.execute("COMMIT");
  }
}

TEST_CASE("the shape of a table follows the schema") {
  const Folder folder;
  const std::string path = folder / "things.db";
  const Connection writer(path);
  make_things(writer, 4096);
  writer.execute("INSERT INTO things VALUES (1, 2, 3, 4)");
  CHECK(Reader(path).by_scan().front() == "1:1:|1:2:|1:3:|1:4:|");
  const Connection connection(path);
  const auto snapshot = Snapshot::make(connection.handle());
  const auto has = [&](std::string_view column) {
    connection.execute("SELECT * FROM things");
    const auto before = LastCommit::read(connection.handle());
    connection.execute("BEGIN; SELECT * FROM things");
    REQUIRE(snapshot->follow(*before));
    const bool has_column = snapshot->lookup("things", std::array{column}) != nullptr;
    connection.execute("COMMIT");
    return has_column;
  };
  CHECK_FALSE(has("c"));
  writer.execute("ALTER TABLE things ADD COLUMN c; ALTER TABLE things ADD COLUMN d DEFAULT 5");
  CHECK(has("c"));
  CHECK(has(""));  // always NULL
  CHECK_FALSE(has("d"));
  CHECK_FALSE(has("unknown"));
}

TEST_CASE("damaged pages give the rows of SQL or a failure") {
  const Folder folder;
  const std::string path = folder / "things.db";
  constexpr std::size_t page_size = 1024;
  {
    const Connection writer(path);
    make_things(writer, page_size);
    Random random(5);
    change_things(writer, random, 150, 3000);
    writer.execute("PRAGMA wal_checkpoint(TRUNCATE)");
  }
  const std::string sound = read_file(path);
  Random random(6);
  int failures = 0;
  int equal = 0;
  for (int round = 0; round < 600; ++round) {
    CAPTURE(round);
    std::string damaged = sound;
    for (auto flips = 1 + random() % 3; flips > 0; --flips) {
      // Every second flip is at the beginning of a page, where its structure is.
      const std::size_t page = 1 + random() % (sound.size() / page_size - 1);
      const std::size_t at = page * page_size + random() % (random() % 2 == 0 ? 40 : page_size);
      damaged[at] = static_cast<char>(damaged[at] ^ (1 << random() % 8));
    }
    const std::string copy = folder / "damaged.db";
    for (const char* suffix : {"", "-wal", "-shm"}) std::filesystem::remove(copy + suffix);
    write_file(copy, damaged);
    Reader reader(copy);
    REQUIRE(reader.is_supported());
    Rows scanned;
    try {
      scanned = reader.by_scan();
      reader.by_lookup();
    } catch (const Failure& failure) {
      CHECK((failure.result() & 0xFF) == SQLITE_CORRUPT);
      ++failures;
      continue;
    }
    Rows rows;
    try {
      rows = reader.by_sql();
    } catch (const Failure&) {  // SQLite checks more than what a scan reads
      ++failures;
      continue;
    }
    CHECK(scanned == rows);
    ++equal;
  }
  CHECK(failures > 50);
  CHECK(equal > 50);
}

}  // namespace
}  // namespace sqlite_format
