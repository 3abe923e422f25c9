// A database that is read and written through buffered files is the same as with SQLite's own VFS.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <csignal>
#include <filesystem>
#include <random>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {
namespace {

std::unique_ptr<SqliteConnection> connect(const std::string& path, const char* vfs) {
  auto connection =
      std::make_unique<SqliteConnection>(path, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, vfs);
  connection->execute("PRAGMA journal_mode = WAL; PRAGMA cache_size = 20");
  connection->commit_durably();
  return connection;
}

std::string text(SqliteConnection& connection, std::string_view sql) {
  Query query = connection.query(sql);
  REQUIRE(query.step());
  return std::string(query.column(0).bytes);
}

// The number of rows, and a value that depends on each row and their order.
std::string content(SqliteConnection& connection) {
  return text(connection,
              "SELECT count(*) || ' ' || coalesce(sum(key * length(a)), 0) || ' ' ||"
              " coalesce(hex(group_concat(substr(a, 1, 2), '')), '') FROM t");
}

// A limit on the size of files simulates a full disk.
class FileLimit {
 public:
  FileLimit() { REQUIRE(::getrlimit(RLIMIT_FSIZE, &unlimited_) == 0); }
  ~FileLimit() {
    lift();
    std::signal(SIGXFSZ, handler_);
  }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

  void set(rlim_t bytes) {
    const struct rlimit limited{bytes, unlimited_.rlim_max};
    REQUIRE(::setrlimit(RLIMIT_FSIZE, &limited) == 0);
  }
  void lift() { ::setrlimit(RLIMIT_FSIZE, &unlimited_); }

 private:
  struct rlimit unlimited_{};
  void (*handler_)(int) = std::signal(SIGXFSZ, SIG_IGN);
};

TEST_CASE("other connections see every commit, and a buffered connection sees theirs") {
  REQUIRE(sqlite_format::buffered_files() != nullptr);
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto buffered = connect(path, sqlite_format::buffered_files());
  const auto plain = connect(path, nullptr);
  buffered->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
  std::mt19937 random(11);
  for (int round = 0; round < 150; ++round) {
    SqliteConnection& writer = random() % 2 == 0 ? *buffered : *plain;
    SqliteConnection& other = &writer == plain.get() ? *buffered : *plain;
    const std::string before = content(other);
    writer.execute("BEGIN IMMEDIATE");
    const auto rows = std::to_string(random() % 300);
    const auto first = std::to_string(random() % 3000);
    writer.execute("WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < " +
                   rows + ") INSERT OR REPLACE INTO t SELECT " + first +
                   " + i, hex(randomblob(abs(random()) % 3000)) FROM n");
    writer.execute("DELETE FROM t WHERE key % 7 = " + std::to_string(random() % 7));
    CHECK(content(other) == before);
    writer.execute(random() % 4 == 0 ? "ROLLBACK" : "COMMIT");
    REQUIRE(content(other) == content(writer));
    if (random() % 8 == 0) (random() % 2 == 0 ? writer : other).truncate_log();
  }
  CHECK(text(*buffered, "PRAGMA integrity_check") == "ok");
  CHECK(text(*plain, "PRAGMA integrity_check") == "ok");
  // Without the log, the database alone has every row.
  CHECK(buffered->truncate_log() == 0);
  SqliteConnection alone(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
  CHECK(content(alone) == content(*plain));
}

TEST_CASE("a checkpoint that a reader limits writes what all readers see") {
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto buffered = connect(path, sqlite_format::buffered_files());
  const auto reader = connect(path, nullptr);
  buffered->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
  buffered->execute("INSERT INTO t VALUES (1, zeroblob(100000))");
  reader->begin_snapshot();
  const std::string seen = content(*reader);
  buffered->execute("UPDATE t SET a = zeroblob(900000); INSERT INTO t VALUES (2, 'b')");
  CHECK(buffered->truncate_log().value_or(0) > 0);
  CHECK(content(*reader) == seen);
  reader->end_snapshot();
  CHECK(buffered->truncate_log() == 0);
  CHECK(content(*reader) == content(*buffered));
}

TEST_CASE("no transaction commits if a part of it cannot be written") {
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto plain = connect(path, nullptr);
  plain->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
  plain->execute("INSERT INTO t VALUES (1, zeroblob(50000))");
  const std::string before = content(*plain);
  FileLimit limit;
  int refused = 0;
  for (rlim_t bytes = 60'000; content(*plain) == before; bytes += 4'000) {
    CAPTURE(bytes);
    const auto buffered = connect(path, sqlite_format::buffered_files());
    limit.set(bytes);
    try {
      buffered->execute("INSERT INTO t VALUES (2, zeroblob(400000))");
      limit.lift();
      CHECK(content(*plain) == content(*buffered));
      REQUIRE(content(*plain) != before);
    } catch (const Error&) {
      ++refused;
      limit.lift();
      buffered->roll_back();
      REQUIRE(content(*plain) == before);
      CHECK(text(*plain, "PRAGMA integrity_check") == "ok");
    }
  }
  CHECK(refused > 50);
}

TEST_CASE("a checkpoint fails if a part of it cannot be written, and can be repeated") {
  FileLimit limit;
  int refused = 0;
  bool is_done = false;
  for (rlim_t bytes = 60'000; !is_done; bytes += 4'000) {
    CAPTURE(bytes);
    const Folder folder;
    const std::string path = folder / "a.db";
    const auto plain = connect(path, nullptr);
    plain->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
    plain->execute("INSERT INTO t VALUES (1, zeroblob(50000))");
    plain->truncate_log();
    const auto buffered = connect(path, sqlite_format::buffered_files());
    buffered->execute("INSERT INTO t VALUES (2, zeroblob(400000))");
    limit.set(bytes);
    is_done = buffered->truncate_log() == 0;
    limit.lift();
    if (!is_done) ++refused;
    const auto fresh = connect(path, nullptr);
    REQUIRE(content(*fresh) == content(*plain));
    CHECK(text(*fresh, "PRAGMA integrity_check") == "ok");
    CHECK(fresh->truncate_log() == 0);
    SqliteConnection alone(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    CHECK(content(alone) == content(*plain));
  }
  CHECK(refused > 50);
}

TEST_CASE("a checkpoint of transactions after one that was rolled back reports failures") {
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto plain = connect(path, nullptr);
  plain->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
  plain->execute("INSERT INTO t VALUES (1, zeroblob(20000))");
  plain->truncate_log();
  // Its frames stay in the file of the log, which the next transactions begin with equal bytes.
  const auto buffered = connect(path, sqlite_format::buffered_files());
  buffered->execute("INSERT INTO t VALUES (9, 1)");
  buffered->truncate_log();
  buffered->execute("BEGIN; INSERT INTO t VALUES (100, zeroblob(2000000)); ROLLBACK");
  plain->execute("INSERT INTO t VALUES (2, randomblob(40000))");
  const auto reader = connect(path, nullptr);
  reader->begin_snapshot();
  content(*reader);
  plain->execute("INSERT INTO t VALUES (3, randomblob(300000))");
  {
    FileLimit limit;
    limit.set(std::filesystem::file_size(path) + 8192);
    const int result = sqlite3_wal_checkpoint_v2(buffered->handle(), nullptr,
                                                 SQLITE_CHECKPOINT_PASSIVE, nullptr, nullptr);
    CHECK(result != SQLITE_OK);
  }
  reader->end_snapshot();
  const auto fresh = connect(path, nullptr);
  CHECK(text(*fresh, "PRAGMA integrity_check") == "ok");
}

TEST_CASE("a checkpoint after a later transaction of another connection writes both") {
  const Folder folder;
  const std::string path = folder / "a.db";
  const auto plain = connect(path, nullptr);
  plain->execute("CREATE TABLE t (key INTEGER PRIMARY KEY, a)");
  const auto reader = connect(path, nullptr);
  for (const bool is_limited : {false, true}) {
    CAPTURE(is_limited);
    plain->truncate_log();
    const auto buffered = connect(path, sqlite_format::buffered_files());
    buffered->execute("INSERT INTO t (a) VALUES (zeroblob(400000))");
    if (is_limited) reader->begin_snapshot();
    const std::string seen = content(*reader);
    plain->execute("INSERT INTO t (a) VALUES (zeroblob(300000)); UPDATE t SET a = a || 'b'");
    CHECK((buffered->truncate_log() == 0) != is_limited);
    CHECK(content(*reader) == (is_limited ? seen : content(*plain)));
    if (is_limited) reader->end_snapshot();
    CHECK(content(*reader) == content(*plain));
    CHECK(buffered->truncate_log() == 0);
    SqliteConnection alone(immutable_uri(path), SQLITE_OPEN_READONLY | SQLITE_OPEN_URI);
    CHECK(content(alone) == content(*plain));
  }
}

}  // namespace
}  // namespace comptroller::db::sqlite
