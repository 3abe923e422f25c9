#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "sqlite_format/src/bytes.hpp"
#include "sqlite_format/src/record_reader.hpp"
#include "sqlite_format/src/row_reading.hpp"
#include "sqlite_format/src/table_page.hpp"

namespace sqlite_format {

namespace {

constexpr auto min_key = std::numeric_limits<std::int64_t>::min();
constexpr auto max_key = std::numeric_limits<std::int64_t>::max();

class PagesScan final : public Scan {
 public:
  PagesScan(Pages& pages, const Table& table, std::span<const std::size_t> columns, KeyRange range,
            std::function<void()> check)
      : pages_(pages),
        record_(pages, table, columns, max_rows),
        first_(range.first),
        last_(range.last),
        check_(std::move(check)),
        children_{{table.root, min_key, max_key}} {}

  std::size_t next(std::size_t max) override;
  const Value* row(std::size_t row) const override { return record_.row(row); }
  std::int64_t key(std::size_t row) const override { return keys_.at(row); }

 private:
  // A page whose subtree has the keys in (after, last].
  struct Child {
    std::uint32_t page = 0;
    std::int64_t after = 0;
    std::int64_t last = 0;
    std::size_t level = 0;  // of its parent
  };

  bool has_next_leaf();
  void enter(const Child& child);
  void add_children(const Child& parent, const TablePage& page);
  TablePage::Cell next_cell();

  Pages& pages_;
  RecordReader record_;
  std::int64_t first_;
  std::int64_t last_;
  std::function<void()> check_;
  std::array<std::int64_t, max_rows> keys_{};

  std::vector<Child> children_;  // that have not been visited; the last one is the next
  Child leaf_;
  TablePage page_{};  // of the leaf
  std::size_t cells_ = 0;
  std::size_t next_cell_ = 0;
  std::int64_t key_ = 0;
};

// The rows of one call are in one leaf.
std::size_t PagesScan::next(std::size_t max) {
  const std::size_t most = std::min(max, max_rows);
  std::size_t count = 0;
  do {
    while (next_cell_ < cells_ && count < most) {
      const TablePage::Cell cell = next_cell();
      if (cell.key < first_) continue;
      if (cell.key > last_) return count;
      keys_[count] = cell.key;
      const bool is_in_page = record_.read(page_, cell, count);
      ++count;
      if (!is_in_page) return count;
    }
  } while (count == 0 && has_next_leaf());
  return count;
}

// Advances to the next leaf that may have keys of the range.
bool PagesScan::has_next_leaf() {
  check_();
  while (!children_.empty()) {
    const Child child = children_.back();
    children_.pop_back();
    if (child.last < first_) continue;
    if (child.after >= last_) return false;
    enter(child);
    if (next_cell_ < cells_) return true;
  }
  return false;
}

void PagesScan::enter(const Child& child) {
  const TablePage page{pages_.read_ahead(child.page), pages_.page_size()};
  if (!page.is_leaf()) return add_children(child, page);
  leaf_ = child;
  page_ = page;
  cells_ = page.cells();
  next_cell_ = 0;
  key_ = child.after;
}

void PagesScan::add_children(const Child& parent, const TablePage& page) {
  const std::size_t level = parent.level + 1;
  if (level == max_levels) throw_corrupt();
  const std::size_t count = page.cells();
  const auto first = std::ssize(children_);
  std::int64_t after = parent.after;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const auto [child, last] = page.child(cell);
    // Keys must ascend strictly, so that a cycle of pages ends the scan.
    if (last <= after || last >= parent.last) throw_corrupt();
    children_.push_back({child, after, last, level});
    after = last;
  }
  children_.push_back({page.last_child(), after, parent.last, level});
  std::reverse(children_.begin() + first, children_.end());
}

// Reads the next cell of the current leaf.
TablePage::Cell PagesScan::next_cell() {
  const TablePage::Cell cell = page_.cell(next_cell_);
  const bool is_in_order = cell.key > key_ || (next_cell_ == 0 && cell.key == min_key);
  ++next_cell_;
  if (!is_in_order || cell.key > leaf_.last) throw_corrupt();
  key_ = cell.key;
  return cell;
}

}  // namespace

std::unique_ptr<Scan> make_scan(Pages& pages, const Table& table,
                                std::span<const std::size_t> columns, KeyRange range,
                                std::function<void()> check) {
  return std::make_unique<PagesScan>(pages, table, columns, range, std::move(check));
}

}  // namespace sqlite_format
