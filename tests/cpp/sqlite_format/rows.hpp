// Tables of rows of every kind and size, read by this library and by SQL.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite_format/files.hpp"

namespace sqlite_format {

using Random = std::mt19937_64;
using Rows = std::vector<std::string>;

inline constexpr std::int64_t min_key = std::numeric_limits<std::int64_t>::min();
inline constexpr std::int64_t max_key = std::numeric_limits<std::int64_t>::max();

inline std::string text_of(const Value& value) {
  return std::to_string(static_cast<int>(value.type)) + ":" + std::to_string(value.integer) + ":" +
         std::string(value.bytes) + "|";
}

inline void make_things(const Connection& connection, int page_size) {
  connection.execute("PRAGMA page_size = " + std::to_string(page_size) +
                     "; PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF;"
                     "PRAGMA wal_autocheckpoint = 0;"
                     "CREATE TABLE things (key INTEGER PRIMARY KEY, number INTEGER, a, b)");
}

// A value as SQL.
inline std::string any_value(Random& random, std::size_t longest) {
  const std::size_t size = random() % 4 == 0 ? random() % longest : random() % 40;
  switch (random() % 5) {
    case 0:
      return "NULL";
    case 1:
      return std::to_string(static_cast<std::int64_t>(random()) >> random() % 64);
    case 2:
      return "zeroblob(" + std::to_string(size) + ")";
    case 3:
      return "0.5";
    default:
      return "'" + std::string(size, static_cast<char>('a' + random() % 26)) + "'";
  }
}

// Inserts, changes and deletes rows in one commit.
inline void change_things(const Connection& connection, Random& random, int changes,
                          std::size_t longest) {
  connection.execute("BEGIN");
  for (int change = 0; change < changes; ++change) {
    const std::string key =
        random() % 8 == 0 ? std::to_string(static_cast<std::int64_t>(random()) >> random() % 60)
                          : "(SELECT coalesce(max(key), 0) FROM things WHERE key < 1000000) + " +
                                std::to_string(1 + (random() % 50 == 0 ? random() % 1000 : 0));
    connection.execute("INSERT INTO things VALUES (" + key + ", " + std::to_string(random() % 100) +
                       ", " + any_value(random, longest) + ", " + any_value(random, longest) +
                       ") ON CONFLICT DO NOTHING");
    if (random() % 4 != 0) continue;
    const std::string chosen = " WHERE number = " + std::to_string(random() % 100);
    connection.execute("DELETE FROM things" + chosen + " AND key % 2; UPDATE things SET b = " +
                       any_value(random, longest) + chosen);
  }
  connection.execute("COMMIT");
}

// A connection with a read transaction.
class Reader {
 public:
  explicit Reader(const std::string& path)
      : connection_(path), snapshot_(Snapshot::make(connection_.handle())) {
    connection_.execute("SELECT count(*) FROM sqlite_schema");  // opens the WAL
    const auto before = LastCommit::read(connection_.handle());
    connection_.execute("BEGIN; SELECT count(*) FROM sqlite_schema");
    is_supported_ = before && snapshot_->follow(*before);
  }

  bool is_supported() const { return is_supported_; }
  const Connection& connection() const { return connection_; }
  Snapshot& snapshot() { return *snapshot_; }

  Rows by_sql() const {
    Rows rows;
    Sql query(connection_.handle(), "SELECT * FROM things ORDER BY key");
    while (query.step()) {
      std::string& row = rows.emplace_back();
      for (int column = 0; column < query.columns(); ++column) row += text_of(query.value(column));
    }
    return rows;
  }
  Rows by_scan(std::int64_t first = min_key, std::int64_t last = max_key) {
    const std::vector<std::string> names = column_names();
    const std::vector<std::string_view> columns(names.begin(), names.end());
    const auto scan = snapshot_->scan("things", columns, first, last, [] {});
    require(scan != nullptr, "no table");
    Rows rows;
    while (const std::size_t count = scan->next(1 + rows.size() % 20)) {
      for (std::size_t row = 0; row < count; ++row) {
        rows.push_back(row_of(scan->row(row), columns.size()));
      }
    }
    return rows;
  }
  // Finds each row of SQL by its key.
  Rows by_lookup() {
    const std::vector<std::string> names = column_names();
    const std::vector<std::string_view> columns(names.begin(), names.end());
    const auto lookup = snapshot_->lookup("things", columns);
    require(lookup != nullptr, "no table");
    Rows rows;
    Sql keys(connection_.handle(), "SELECT key FROM things ORDER BY key");
    while (keys.step()) {
      const Value* const row = lookup->find(keys.number(0));
      rows.push_back(row == nullptr ? "no row" : row_of(row, columns.size()));
    }
    return rows;
  }

 private:
  std::vector<std::string> column_names() const {
    std::vector<std::string> names;
    Sql query(connection_.handle(), "SELECT name FROM pragma_table_info('things')");
    while (query.step()) names.push_back(query.text(0));
    return names;
  }
  static std::string row_of(const Value* values, std::size_t count) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += text_of(values[i]);
    return text;
  }

  Connection connection_;
  std::unique_ptr<Snapshot> snapshot_;
  bool is_supported_ = false;
};

}  // namespace sqlite_format
