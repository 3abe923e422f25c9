// Finds rows of a table by key in its pages, without SQL. The rows are those of `SELECT columns
// FROM table WHERE key = ?`.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/sqlite/page_cache.hpp"
#include "db/sqlite/statement.hpp"
#include "db/sqlite/table_format.hpp"

namespace comptroller::db::sqlite {

class RowLookup final : public PartialStatement {
 public:
  // Returns nullopt if only SQL can evaluate the columns, a select list. The lookup must not
  // outlive the pages, and must be created again when their schema changes.
  static std::optional<RowLookup> make(SqliteConnection& connection, PageCache& pages,
                                       std::string_view table, std::string_view columns);

  using PartialStatement::bind;
  void bind(int index, const Value& key) override;
  bool step() override;
  int column_count() const override { return static_cast<int>(columns_.size()); }
  Value column(int index) override {
    const std::size_t column = columns_[static_cast<std::size_t>(index)];
    return column == no_column ? Value::null() : record_.column(column);
  }

 private:
  // A leaf, which has the keys in (after, last].
  struct Leaf {
    std::uint32_t page = 0;
    std::int64_t after = std::numeric_limits<std::int64_t>::min();
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    std::uint64_t state = 0;  // of the pages
  };

  static constexpr std::size_t no_column = std::numeric_limits<std::size_t>::max();  // is NULL

  RowLookup(PageCache& pages, std::uint32_t root, std::vector<std::size_t> columns,
            RecordReader record)
      : pages_(pages), root_(root), columns_(std::move(columns)), record_(std::move(record)) {}

  TablePage page(std::uint32_t number) { return {pages_.page(number), PageCache::page_size}; }
  TablePage find_leaf(std::int64_t key);

  PageCache& pages_;
  std::uint32_t root_;
  std::vector<std::size_t> columns_;  // positions in the table, or no_column
  RecordReader record_;
  std::int64_t key_ = 0;  // to find in the next step
  bool is_bound_ = false;
  Leaf leaf_;  // found last
};

}  // namespace comptroller::db::sqlite
