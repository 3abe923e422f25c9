// Prepared statements of one SQLite connection, cached by their text.
#pragma once

#include <sqlite3.h>

#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>

#include "db/database.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

// Must not outlive its connection.
class SqliteStatement final : public Statement {
 public:
  SqliteStatement(SqliteConnection& connection, std::string_view sql);

  void bind(int index, const Value& value) override;
  void bind(std::string_view name, const Value& value) override;
  bool step() override;
  std::int64_t run() override;
  std::optional<std::int64_t> insert() override;
  int column_count() const override { return sqlite3_column_count(statement_.get()); }
  Value column(int index) override;
  void reset() override;

  bool is_in_use() const { return is_in_use_; }
  void use(std::uint64_t number) {
    is_in_use_ = true;
    last_use_ = number;
  }
  std::uint64_t last_use() const { return last_use_; }

 private:
  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  SqliteConnection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  bool is_in_use_ = false;
  std::uint64_t last_use_ = 0;
};

// Evicts idle statements, the least recently used first. Large statements are evicted before
// others, and evict only other large ones. A text that is in use is prepared a second time.
class StatementCache {
 public:
  static constexpr std::size_t max_statements = 256;

  // Returns a statement, which is in use until it is reset.
  SqliteStatement& take(SqliteConnection& connection, std::string_view sql);

 private:
  // Evicts statements to make room for a text of so many bytes.
  void make_room(std::size_t bytes);

  std::unordered_multimap<std::string, SqliteStatement, TextHash, std::equal_to<>> statements_;
  std::uint64_t uses_ = 0;
};

}  // namespace comptroller::db::sqlite
