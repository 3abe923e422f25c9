// Reads the rows of a table in order of key from its pages, without SQL. The rows are those of
// `SELECT columns FROM table WHERE key >= ? AND key < ? AND ... ORDER BY key`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "db/database.hpp"
#include "db/sqlite/pages.hpp"
#include "db/sqlite/statement.hpp"
#include "db/sqlite/table_format.hpp"

namespace comptroller::db::sqlite {

class SqliteConnection;

class PageScan final : public PartialStatement {
 public:
  // Returns nullopt if the table has a feature that only SQL evaluates: an expression as a column,
  // a default. The scan must not outlive the connection's snapshot.
  static std::optional<PageScan> make(SqliteConnection& connection, Pages& pages,
                                      const TableScan& scan);

  bool step() override;
  int column_count() const override { return static_cast<int>(columns_.size()); }
  Value column(int index) override {
    return record_.column(columns_[static_cast<std::size_t>(index)]);
  }

 private:
  struct Condition {
    std::size_t column = 0;
    std::vector<std::int64_t> values;  // in order
    bool is_range = false;
  };
  // A page whose subtree has the keys in (after, last].
  struct Child {
    std::uint32_t page = 0;
    std::int64_t after = 0;
    std::int64_t last = 0;
  };
  // The children of an interior page; `next` is the first that has not been visited.
  struct Level {
    std::vector<Child> children;
    std::size_t next = 0;
  };

  PageScan(SqliteConnection& connection, Pages& pages, RecordReader record)
      : connection_(connection), pages_(pages), record_(std::move(record)) {
    use();
  }

  bool has_next_leaf();
  void enter(const Child& child);
  static std::vector<Child> children_of(const Child& parent, const TablePage& page);
  TablePage::Cell next_cell();
  bool satisfies(const Condition& condition) const;

  SqliteConnection& connection_;
  Pages& pages_;
  RecordReader record_;
  std::vector<std::size_t> columns_;  // positions in the table
  std::vector<Condition> conditions_;
  std::int64_t from_ = 0;
  std::int64_t before_ = 0;

  std::vector<Level> levels_;  // from the root down
  Child leaf_;
  TablePage page_{};  // of the leaf
  std::size_t cells_ = 0;
  std::size_t next_cell_ = 0;
  std::int64_t key_ = 0;
};

}  // namespace comptroller::db::sqlite
