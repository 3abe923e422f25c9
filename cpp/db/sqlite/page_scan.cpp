#include "db/sqlite/page_scan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr auto min_key = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::optional<PageScan> PageScan::make(SqliteConnection& connection, Pages& pages,
                                       const TableScan& scan) {
  const auto shape = TableShape::of(connection, scan.table);
  if (!shape || shape->root > pages.count()) return std::nullopt;
  std::size_t count = 0;
  const auto position = [&](std::string_view name) {
    const auto column = shape->find(name);
    if (column) count = std::max(count, *column + 1);
    return column;
  };
  std::vector<std::size_t> columns;
  for (const std::string_view name : scan.columns) {
    const auto column = position(name);
    if (!column) return std::nullopt;
    columns.push_back(*column);
  }
  std::vector<Condition> conditions;
  for (const auto& [name, values, is_range] : scan.conditions) {
    const auto column = position(name);
    if (!column) return std::nullopt;
    conditions.push_back({*column, values, is_range});
    if (!is_range) std::ranges::sort(conditions.back().values);
  }
  PageScan rows(connection, pages,
                RecordReader(count, shape->key, [&pages](auto&&... of) { pages.read(of...); }));
  rows.columns_ = std::move(columns);
  rows.conditions_ = std::move(conditions);
  rows.from_ = scan.from;
  rows.before_ = scan.before;
  rows.levels_.push_back({{{shape->root, min_key, std::numeric_limits<std::int64_t>::max()}}});
  return rows;
}

bool PageScan::step() {
  while (true) {
    while (next_cell_ < cells_) {
      const TablePage::Cell cell = next_cell();
      if (cell.key < from_) continue;
      if (cell.key >= before_) return false;
      record_.read(page_, cell, pages_.count());
      if (std::ranges::all_of(conditions_,
                              [&](const Condition& condition) { return satisfies(condition); })) {
        return true;
      }
    }
    if (!has_next_leaf()) return false;
  }
}

// Advances to the next leaf that may have keys of the range.
bool PageScan::has_next_leaf() {
  connection_.check_interrupt();
  while (!levels_.empty()) {
    Level& level = levels_.back();
    if (level.next == level.children.size()) {
      levels_.pop_back();
      continue;
    }
    const Child child = level.children[level.next++];
    if (child.last < from_) continue;
    if (child.after >= before_ - 1) return false;
    enter(child);
    if (next_cell_ < cells_) return true;
  }
  return false;
}

void PageScan::enter(const Child& child) {
  const TablePage page{pages_.read_ahead(child.page), pages_.page_size()};
  if (page.is_leaf()) {
    leaf_ = child;
    page_ = page;
    cells_ = page.cells();
    next_cell_ = 0;
    key_ = child.after;
    return;
  }
  if (levels_.size() == max_levels) throw_damaged_page();
  levels_.push_back({children_of(child, page)});
}

std::vector<PageScan::Child> PageScan::children_of(const Child& parent, const TablePage& page) {
  std::vector<Child> children;
  const std::size_t count = page.cells();
  std::int64_t after = parent.after;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto [child, last] = page.child(cell);
    // Keys must ascend strictly, so that a cycle of pages ends the scan.
    if (last <= after || last >= parent.last) throw_damaged_page();
    children.push_back({child, after, last});
    after = last;
  }
  children.push_back({page.last_child(), after, parent.last});
  return children;
}

// Reads the next cell of the current leaf.
TablePage::Cell PageScan::next_cell() {
  const TablePage::Cell cell = page_.cell(next_cell_);
  const bool is_in_order = cell.key > key_ || (next_cell_ == 0 && cell.key == min_key);
  ++next_cell_;
  if (!is_in_order || cell.key > leaf_.last) throw_damaged_page();
  key_ = cell.key;
  return cell;
}

bool PageScan::satisfies(const Condition& condition) const {
  const Value value = record_.column(condition.column);
  if (value.is_null()) return false;
  if (value.kind != Value::Kind::integer) throw_damaged_page();
  if (condition.is_range) {
    return value.integer >= condition.values[0] && value.integer < condition.values[1];
  }
  return std::ranges::binary_search(condition.values, value.integer);
}

}  // namespace comptroller::db::sqlite
