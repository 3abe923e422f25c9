// Plans of statements with any statistics that ANALYZE may have stored, at whatever time it ran.
#pragma once

#include <sqlite3.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace comptroller::store {

inline std::vector<std::string> texts_of(sqlite3* connection, const std::string& sql, int column) {
  std::vector<std::string> texts;
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(connection, sql.c_str(), -1, &statement, nullptr);
  while (sqlite3_step(statement) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
    texts.emplace_back(text == nullptr ? "" : text);
  }
  sqlite3_finalize(statement);
  return texts;
}

inline std::vector<std::string> plan_of(sqlite3* connection, const std::string& sql) {
  return texts_of(connection, "EXPLAIN QUERY PLAN " + sql, 3);
}

// Statistics of every index: the rows of its table, and how many of them share a prefix of columns.
struct Statistics {
  static constexpr std::size_t random_kinds = 12;
  static constexpr std::array<std::string_view, 5> fixed{"1 1 1 1 1", "20 1 1 1 1", "20 20 20 20 1",
                                                         "1000000 1 1 1 1",
                                                         "1000000 1000000 1000000 1000000 1"};
  static constexpr std::size_t kinds = random_kinds + fixed.size();

  // Returns the text that ANALYZE stores for an index; `kind` is less than `kinds`.
  static std::string of_index(std::size_t kind, const std::string& table,
                              const std::string& index) {
    if (kind >= random_kinds) return std::string(fixed.at(kind - random_kinds));
    const auto dice_of = [&](const std::string& name) {
      return std::mt19937_64(std::hash<std::string>{}(name) + kind);
    };
    constexpr std::array<std::uint64_t, 5> sizes{1, 3, 20, 1000, 1'000'000};
    std::uint64_t rows = sizes[dice_of(table)() % sizes.size()];
    std::string text = std::to_string(rows);
    std::mt19937_64 dice = dice_of(index);
    for (int column = 0; column < 4; ++column) {
      rows = std::max<std::uint64_t>(1, rows >> (dice() % 12));
      text += " " + std::to_string(rows);
    }
    return text;
  }

  static void store(sqlite3* connection, std::size_t kind) {
    sqlite3_exec(connection, "ANALYZE; DELETE FROM sqlite_stat1", nullptr, nullptr, nullptr);
    const std::string indexes = "SELECT tbl_name, name FROM sqlite_schema WHERE type = 'index'";
    const auto tables = texts_of(connection, indexes, 0);
    const auto names = texts_of(connection, indexes, 1);
    for (std::size_t i = 0; i < names.size(); ++i) {
      const std::string sql = "INSERT INTO sqlite_stat1 VALUES ('" + tables[i] + "', '" + names[i] +
                              "', '" + of_index(kind, tables[i], names[i]) + "')";
      sqlite3_exec(connection, sql.c_str(), nullptr, nullptr, nullptr);
    }
    sqlite3_exec(connection, "ANALYZE sqlite_schema", nullptr, nullptr, nullptr);
  }
};

// The schema of a database, without rows, with one kind of statistics.
class SchemaWithStatistics {
 public:
  SchemaWithStatistics(sqlite3* original, std::size_t kind) {
    sqlite3* handle = nullptr;
    sqlite3_open(":memory:", &handle);
    connection_.reset(handle);
    for (const std::string& sql :
         texts_of(original, "SELECT sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite%'", 0)) {
      sqlite3_exec(handle, sql.c_str(), nullptr, nullptr, nullptr);
    }
    Statistics::store(handle, kind);
  }
  std::vector<std::string> plan(const std::string& sql) { return plan_of(connection_.get(), sql); }

 private:
  struct Close {
    void operator()(sqlite3* handle) const { sqlite3_close_v2(handle); }
  };
  std::unique_ptr<sqlite3, Close> connection_;
};

}  // namespace comptroller::store
