#include "db/sqlite/page_scan.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "db/sqlite/connection.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr auto min_key = std::numeric_limits<std::int64_t>::min();

}  // namespace

std::optional<PageScan> PageScan::make(SqliteConnection& connection, Pages& pages,
                                       const TableScan& scan) {
  std::vector<std::string_view> columns = scan.columns;
  for (const auto& condition : scan.conditions) columns.push_back(condition.column);
  auto record = RecordReader::make(connection, pages, scan.table, columns, max_rows);
  if (!record) return std::nullopt;
  return PageScan(connection, pages, std::move(*record), scan);
}

PageScan::PageScan(SqliteConnection& connection, Pages& pages, RecordReader record,
                   const TableScan& scan)
    : Statement(record.values(), record.width()),
      connection_(connection),
      pages_(pages),
      record_(std::move(record)),
      columns_(scan.columns.size()),
      from_(scan.from),
      last_(scan.last),
      children_{{record_.root(), min_key, std::numeric_limits<std::int64_t>::max()}} {
  for (const auto& [column, values, is_range] : scan.conditions) {
    Condition& condition = conditions_.emplace_back(values, is_range);
    if (!is_range) std::ranges::sort(condition.values);
  }
  use();
}

// The rows of a step are in one leaf.
std::size_t PageScan::step_rows(std::size_t max) {
  const std::size_t most = std::min(max, max_rows);
  std::size_t count = 0;
  do {
    while (next_cell_ < cells_ && count < most) {
      const TablePage::Cell cell = next_cell();
      if (cell.key < from_) continue;
      if (cell.key > last_) return count;
      keys_[count] = cell.key;
      const bool is_in_page = record_.read(page_, cell, count);
      if (!satisfies_conditions(count)) continue;
      ++count;
      if (!is_in_page) return count;
    }
  } while (count == 0 && has_next_leaf());
  return count;
}

// Advances to the next leaf that may have keys of the range.
bool PageScan::has_next_leaf() {
  connection_.check_interrupt();
  while (!children_.empty()) {
    const Child child = children_.back();
    children_.pop_back();
    if (child.last < from_) continue;
    if (child.after >= last_) return false;
    enter(child);
    if (next_cell_ < cells_) return true;
  }
  return false;
}

void PageScan::enter(const Child& child) {
  const TablePage page{pages_.read_ahead(child.page), pages_.page_size()};
  if (!page.is_leaf()) return add_children(child, page);
  leaf_ = child;
  page_ = page;
  cells_ = page.cells();
  next_cell_ = 0;
  key_ = child.after;
}

void PageScan::add_children(const Child& parent, const TablePage& page) {
  const std::size_t level = parent.level + 1;
  if (level == max_levels) throw_damaged_page();
  const std::size_t count = page.cells();
  const auto first = std::ssize(children_);
  std::int64_t after = parent.after;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto [child, last] = page.child(cell);
    // Keys must ascend strictly, so that a cycle of pages ends the scan.
    if (last <= after || last >= parent.last) throw_damaged_page();
    children_.push_back({child, after, last, level});
    after = last;
  }
  children_.push_back({page.last_child(), after, parent.last, level});
  std::reverse(children_.begin() + first, children_.end());
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

// Whether the record of a row meets all conditions.
bool PageScan::satisfies_conditions(std::size_t row) {
  std::size_t index = columns_;
  for (const auto& [values, is_range] : conditions_) {
    const Value& value = record_.values()[row * record_.width() + index++];
    if (value.is_null()) return false;
    if (value.kind != Value::Kind::integer) {
      throw located(wrong_type(value, "an integer"), place_of(static_cast<int>(index) - 1, row));
    }
    const bool is_met = is_range ? value.integer >= values[0] && value.integer < values[1]
                                 : std::ranges::binary_search(values, value.integer);
    if (!is_met) return false;
  }
  return true;
}

}  // namespace comptroller::db::sqlite
