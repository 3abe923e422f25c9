// Reads the rows of a table in order of key from its pages, without SQL. The rows are those of
// `SELECT columns FROM table WHERE key >= ? AND key <= ? AND ... ORDER BY key`.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/pages.hpp"
#include "db/sqlite/table_format.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

class PageScan final : public Statement {
 public:
  // Returns nullopt if the table has a feature that only SQL evaluates: an expression as a column,
  // a default. The scan must not outlive the connection's snapshot.
  static std::optional<PageScan> make(SqliteConnection& connection, Pages& pages,
                                      const TableScan& scan);

  bool step() override { return step_rows(1) > 0; }
  std::size_t step_rows(std::size_t max) override;
  std::string place_of(int index, std::size_t row) override {
    return record_.place_of(index, keys_.at(row));
  }

 private:
  static constexpr std::size_t max_rows = 32;  // of a step; their values fit in the first cache

  struct Condition {
    std::vector<std::int64_t> values;  // in order
    bool is_range;
  };
  // A page whose subtree has the keys in (after, last].
  struct Child {
    std::uint32_t page = 0;
    std::int64_t after = 0;
    std::int64_t last = 0;
    std::size_t level = 0;  // of its parent
  };

  PageScan(SqliteConnection& connection, Pages& pages, RecordReader record, const TableScan& scan);

  bool has_next_leaf();
  void enter(const Child& child);
  void add_children(const Child& parent, const TablePage& page);
  TablePage::Cell next_cell();
  bool satisfies_conditions(std::size_t row);

  SqliteConnection& connection_;
  Pages& pages_;
  RecordReader record_;  // of the columns, then those of the conditions
  std::size_t columns_;
  std::vector<Condition> conditions_;
  std::int64_t from_;
  std::int64_t last_;
  std::array<std::int64_t, max_rows> keys_{};  // of the rows of the step

  std::vector<Child> children_;  // that have not been visited; the last one is the next
  Child leaf_;
  TablePage page_{};  // of the leaf
  std::size_t cells_ = 0;
  std::size_t next_cell_ = 0;
  std::int64_t key_ = 0;
};

}  // namespace comptroller::db::sqlite
