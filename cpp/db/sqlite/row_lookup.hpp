// Finds rows of a table by key in its pages, without SQL. The rows are those of `SELECT columns
// FROM table WHERE key = ?`.
#pragma once

#include <cstdint>
#include <limits>

#include "db/database.hpp"
#include "db/sqlite/table_format.hpp"

namespace comptroller::db::sqlite {

class RowLookup final : public Statement {
 public:
  // The pages must outlive the lookup. It must be created again when their schema changes.
  RowLookup(Pages& pages, RecordReader record)
      : Statement(record.values(), record.width()), pages_(pages), record_(std::move(record)) {}

  using Statement::bind;
  void bind(int index, const Value& key) override;
  bool step() override;
  std::string place_of(int index, std::size_t /*row*/) override {
    return record_.place_of(index, key_);
  }

 private:
  // A leaf, which has the keys in (after, last].
  struct Leaf {
    std::uint32_t page = 0;
    std::int64_t after = std::numeric_limits<std::int64_t>::min();
    std::int64_t last = std::numeric_limits<std::int64_t>::max();
    std::uint64_t state = 0;  // of the pages
  };

  TablePage page(std::uint32_t number) { return {pages_.page(number), pages_.page_size()}; }
  TablePage find_leaf(std::int64_t key);

  Pages& pages_;
  RecordReader record_;
  std::int64_t key_ = 0;  // to find in the next step
  bool is_bound_ = false;
  Leaf leaf_;  // found last
};

}  // namespace comptroller::db::sqlite
