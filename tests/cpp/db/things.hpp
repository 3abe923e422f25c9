// A table of rows of every kind and size, and a connection that reads it.
#pragma once

#include <doctest/doctest.h>

#include <atomic>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "db/folder.hpp"
#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db {

inline constexpr int writable = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
inline constexpr std::int64_t everything = std::numeric_limits<std::int64_t>::max();
inline const std::vector<std::string_view> all_columns{"key", "number", "a", "b", "c"};

using Random = std::mt19937_64;

inline std::string repr(const Value& value) {
  return std::to_string(static_cast<int>(value.kind)) + ":" + std::to_string(value.integer) + ":" +
         std::string(value.bytes);
}

inline std::string row_of(Query& query, std::size_t columns, std::size_t row = 0) {
  std::string text;
  for (std::size_t index = 0; index < columns; ++index) {
    text += repr(query.column(static_cast<int>(index), row)) + "|";
  }
  return text;
}

// Reads some rows at once.
inline std::vector<std::string> rows_of(Query query, std::size_t columns) {
  std::vector<std::string> rows;
  while (true) {
    const std::size_t max = 1 + rows.size() % 50;
    const std::size_t count = query.step_rows(max);
    if (count == 0) return rows;
    CHECK(count <= max);
    for (std::size_t row = 0; row < count; ++row) rows.push_back(row_of(query, columns, row));
  }
}

// A connection with a snapshot.
struct Reader {
  explicit Reader(const std::string& path) : connection(path, SQLITE_OPEN_READONLY) {
    connection.keep_log();
    for (int attempt = 0; attempt < 5; ++attempt) {
      if (connection.begin_present_snapshot()) return;
      connection.end_snapshot();
    }
    connection.begin_snapshot();
  }
  ~Reader() { connection.end_snapshot(); }

  std::optional<Query> scan(std::int64_t from = least, std::int64_t before = everything,
                            std::vector<TableScan::Condition> conditions = {}) {
    return connection.scan({"things", all_columns, from, before, std::move(conditions)});
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

inline void make_things(sqlite::SqliteConnection& connection, int page_size) {
  connection.execute("PRAGMA page_size = " + std::to_string(page_size) +
                     "; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                     "CREATE TABLE things (key INTEGER PRIMARY KEY, number INTEGER, a, b, c);"
                     "CREATE INDEX things_by_number ON things (number)");
}

inline std::int64_t any_integer(Random& random) {
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
inline void insert_thing(sqlite::SqliteConnection& connection, Random& random,
                         std::size_t longest) {
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

inline void change_things(sqlite::SqliteConnection& connection, Random& random, int changes,
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

// Two threads that change the table, commit and checkpoint until the end of the scope.
class BusyWriters {
 public:
  explicit BusyWriters(const std::string& path) {
    for (const int checkpoint : {SQLITE_CHECKPOINT_PASSIVE, SQLITE_CHECKPOINT_RESTART}) {
      threads_.emplace_back([this, path, checkpoint] { write(path, checkpoint); });
    }
  }
  ~BusyWriters() {
    is_done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyWriters(const BusyWriters&) = delete;
  BusyWriters& operator=(const BusyWriters&) = delete;

 private:
  void write(const std::string& path, int checkpoint) const {
    sqlite::SqliteConnection connection(path, SQLITE_OPEN_READWRITE);
    connection.execute("PRAGMA synchronous = OFF; PRAGMA wal_autocheckpoint = 0");
    Random random(static_cast<std::uint64_t>(checkpoint));
    for (int commit = 0; !is_done_; ++commit) {
      try {
        connection.execute("BEGIN IMMEDIATE");
        insert_thing(connection, random, 6000);
        connection.execute(
            "DELETE FROM things WHERE key IN (SELECT key FROM things"
            " WHERE number = 1 ORDER BY key LIMIT 1);"
            "UPDATE things SET number = number + 1 WHERE key % 50 = " +
            std::to_string(commit % 50));
        connection.execute("COMMIT");
      } catch (const Error&) {  // busy
        connection.roll_back();
      }
      if (commit % 20 == 0) {
        sqlite3_wal_checkpoint_v2(connection.handle(), nullptr, checkpoint, nullptr, nullptr);
      }
    }
  }

  std::atomic<bool> is_done_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace comptroller::db
