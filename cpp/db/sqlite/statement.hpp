// Prepared statements of one SQLite connection, cached by their text.
#pragma once

#include <sqlite3.h>

#include <list>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

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
  Value column(int index) override;
  void reset() override;

  bool is_in_use() const { return is_in_use_; }
  void use() { is_in_use_ = true; }

 private:
  int index_of(std::string_view name);

  struct Finalize {
    void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
  };
  SqliteConnection& connection_;
  std::unique_ptr<sqlite3_stmt, Finalize> statement_;
  // Of the parameters, copied since a schema change frees SQLite's; empty until one is bound by
  // name.
  std::vector<std::string> names_;
  std::size_t next_name_ = 0;
  bool is_in_use_ = false;
};

// Evicts one idle statement at a time, the least recently used first. A large statement is evicted
// first and evicts only other large ones. A text that is in use is prepared a second time.
class StatementCache {
 public:
  static constexpr std::size_t most_statements = 256;

  // A statement in use, until it is reset.
  SqliteStatement& take(SqliteConnection& connection, std::string_view sql);

 private:
  struct Entry {
    std::string sql;
    SqliteStatement statement;

    bool is_large() const;
  };
  using Entries = std::list<Entry>;
  struct Hash {
    std::size_t operator()(std::string_view sql) const;
  };

  void make_room(bool for_large);
  void erase(Entries::iterator entry);

  Entries entries_;  // the most recently used first, large ones last
  std::unordered_multimap<std::string_view, Entries::iterator, Hash> by_text_;
  std::size_t sql_bytes_ = 0;  // of the texts of entries_ that are not large
};

}  // namespace comptroller::db::sqlite
