// The prepared statements of one SQLite connection, cached by their text.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/handle.hpp"

namespace comptroller::db::sqlite {

// Must not outlive its connection.
class SqliteStatement final : public Statement {
 public:
  SqliteStatement(Handle& connection, std::string_view sql);

  void bind(int index, const Value& value) override;
  void bind(std::string_view name, const Value& value) override;
  bool step() override;
  std::int64_t run() override;
  std::optional<std::int64_t> insert() override;
  std::string place_of(int index, std::size_t row) override;
  void reset() override;

  void use(std::uint64_t number) {
    Statement::use();
    last_use_ = number;
  }
  std::uint64_t last_use() const { return last_use_; }

 private:
  const Value& column_of_row(int index) override;

  Handle& connection_;
  std::unique_ptr<sqlite3_stmt, Release<sqlite3_finalize>> statement_;
  std::vector<Value> values_;  // of the columns that were read
  bool has_stepped_ = false;   // since the last reset
  std::uint64_t last_use_ = 0;
};

// Evicts idle statements, the least recently used first. Large statements are evicted before
// others, and evict only other large ones. A text that is in use is prepared a second time.
class StatementCache {
 public:
  static constexpr std::size_t max_statements = 256;

  // Returns a statement, which is in use until it is reset.
  SqliteStatement& take(Handle& connection, std::string_view sql);

 private:
  // Evicts statements to make room for a text of `bytes` bytes.
  void make_room(std::size_t bytes);

  std::unordered_multimap<std::string, SqliteStatement, TextHash, std::equal_to<>> statements_;
  std::uint64_t uses_ = 0;
};

}  // namespace comptroller::db::sqlite
