#include "db/sqlite/row_lookup.hpp"

#include <algorithm>
#include <utility>

#include "db/select_list.hpp"
#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

std::optional<RowLookup> RowLookup::make(SqliteConnection& connection, PageCache& pages,
                                         std::string_view table, std::string_view columns) {
  const auto shape = TableShape::of(connection, table);
  if (!shape) return std::nullopt;
  std::vector<std::size_t> positions;
  std::size_t count = 0;
  for (const std::string_view name : split_select_list(columns)) {
    if (name.starts_with("NULL AS ")) {
      positions.push_back(no_column);
      continue;
    }
    const auto column = shape->find(name);
    if (!column) return std::nullopt;
    positions.push_back(*column);
    count = std::max(count, *column + 1);
  }
  return RowLookup(pages, shape->root, std::move(positions),
                   RecordReader(count, shape->key, [&pages](auto&&... of) { pages.copy(of...); }));
}

void RowLookup::bind(int, const Value& key) {
  key_ = key.integer;
  is_bound_ = true;
}

bool RowLookup::step() {
  if (!std::exchange(is_bound_, false)) return false;
  const std::int64_t key = key_;
  const TablePage leaf = find_leaf(key);
  std::size_t low = 0;
  std::size_t high = leaf.cells();
  // Keys without gaps are found at once.
  auto next = static_cast<std::size_t>(static_cast<std::uint64_t>(key) -
                                       static_cast<std::uint64_t>(leaf_.after) - 1);
  for (; low < high; next = (low + high) / 2) {
    const std::size_t place = std::min(next, high - 1);
    const TablePage::Cell cell = leaf.cell(place);
    if (cell.key == key) {
      record_.read(leaf, cell, pages_.page_count());
      return true;
    }
    if (cell.key < key) {
      low = place + 1;
    } else {
      high = place;
    }
  }
  return false;
}

TablePage RowLookup::find_leaf(std::int64_t key) {
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
  throw_damaged_page();
}

}  // namespace comptroller::db::sqlite
