#include <algorithm>
#include <limits>

#include "sqlite_format/src/bytes.hpp"
#include "sqlite_format/src/record_reader.hpp"
#include "sqlite_format/src/row_reading.hpp"
#include "sqlite_format/src/table_page.hpp"

namespace sqlite_format {

namespace {

class PagesLookup final : public Lookup {
 public:
  PagesLookup(Pages& pages, const Table& table, std::span<const std::size_t> columns)
      : pages_(pages), record_(pages, table, columns, 1), root_(table.root) {}

  const Value* find(std::int64_t key) override;

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
  std::uint32_t root_;
  Leaf leaf_;  // found last
};

const Value* PagesLookup::find(std::int64_t key) {
  const TablePage leaf = find_leaf(key);
  std::size_t low = 0;
  std::size_t high = leaf.cells();
  // The first guess is exact if the keys have no gaps.
  auto guess = static_cast<std::size_t>(static_cast<std::uint64_t>(key) -
                                        static_cast<std::uint64_t>(leaf_.after) - 1);
  for (; low < high; guess = (low + high) / 2) {
    const std::size_t place = std::min(guess, high - 1);
    const TablePage::Cell cell = leaf.cell(place);
    if (cell.key == key) {
      record_.read(leaf, cell);
      return record_.row(0);
    }
    if (cell.key < key) {
      low = place + 1;
    } else {
      high = place;
    }
  }
  return nullptr;
}

TablePage PagesLookup::find_leaf(std::int64_t key) {
  if (leaf_.state == pages_.state() && key > leaf_.after && key <= leaf_.last) {
    return page(leaf_.page);
  }
  Leaf leaf{.page = root_};
  for (std::size_t level = 0; level < max_levels; ++level) {
    const TablePage current = page(leaf.page);
    if (current.is_leaf()) {
      leaf.state = pages_.state();
      leaf_ = leaf;
      return current;
    }
    const std::size_t cells = current.cells();
    std::size_t low = 0;
    std::size_t high = cells;
    leaf.page = current.last_child();
    while (low < high) {  // finds the first child whose last key is not less
      const std::size_t middle = (low + high) / 2;
      const auto [child, last] = current.child(middle);
      if (last < key) {
        low = middle + 1;
        leaf.after = last;
      } else {
        high = middle;
        leaf.page = child;
        leaf.last = last;
      }
    }
  }
  throw_corrupt();
}

}  // namespace

std::unique_ptr<Lookup> make_lookup(Pages& pages, const Table& table,
                                    std::span<const std::size_t> columns) {
  return std::make_unique<PagesLookup>(pages, table, columns);
}

}  // namespace sqlite_format
