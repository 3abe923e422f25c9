#include "db/sqlite/page_scan.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <utility>

#include "db/sqlite/connection.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr char interior_page = 5;
constexpr char leaf_page = 13;
constexpr std::size_t interior_header_size = 12;
constexpr std::size_t leaf_header_size = 8;
constexpr std::size_t max_levels = 20;
constexpr auto min_key = std::numeric_limits<std::int64_t>::min();
constexpr std::uint64_t max_record_size = 1'000'000'000;  // SQLite's own limit

std::size_t cells_of(const char* page) {
  return read_number<std::uint16_t>(page + 3);
}

// Reads a variable-length integer and advances past it.
std::uint64_t read_varint(const char*& at, const char* end) {
  std::uint64_t number = 0;
  for (int count = 1; at < end; ++count) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (count == 9) return number << 8U | byte;
    number = number << 7U | (byte & 0x7FU);
    if (byte < 0x80) return number;
  }
  throw_damaged_page();
}

std::size_t size_of_type(std::uint64_t type) {
  constexpr std::array<std::size_t, 12> sizes{0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0};
  if (type < sizes.size()) return sizes[type];
  return type / 2 > max_record_size ? max_record_size : static_cast<std::size_t>((type - 12) / 2);
}

std::int64_t read_integer(const char* at, std::size_t size) {
  if (size == sizeof(std::int64_t)) {
    return static_cast<std::int64_t>(read_number<std::uint64_t>(at));
  }
  auto number = static_cast<std::uint64_t>(std::int64_t{static_cast<std::int8_t>(*at)});
  for (std::size_t index = 1; index < size; ++index) {
    number = number << 8U | static_cast<unsigned char>(at[index]);
  }
  return static_cast<std::int64_t>(number);
}

// Returns the start of a cell, whose offset is in the array after the page header.
const char* cell_at(const char* page, std::size_t page_size, std::size_t header, std::size_t cell) {
  const std::size_t place = header + 2 * cell;
  if (place + 2 > page_size) throw_damaged_page();
  const auto offset = read_number<std::uint16_t>(page + place);
  if (offset < header || offset >= page_size) throw_damaged_page();
  return page + offset;
}

struct TableColumns {
  std::vector<std::string> names;
  std::vector<bool> has_default;
  std::size_t key = 0;
};

// Returns the columns of a table; nullopt if a column is not stored literally.
std::optional<TableColumns> columns_of(SqliteConnection& connection, std::string_view table) {
  TableColumns columns;
  db::Query query = connection.query(
      "SELECT name, dflt_value IS NOT NULL, pk, hidden FROM pragma_table_xinfo(?)");
  query.bind(1, Value::of(table));
  while (query.step()) {
    if (query.column(3).integer != 0) return std::nullopt;
    if (query.column(2).integer != 0) columns.key = columns.names.size();
    columns.names.emplace_back(query.column(0).bytes);
    columns.has_default.push_back(query.column(1).integer != 0);
  }
  return columns;
}

}  // namespace

std::optional<PageScan> PageScan::make(SqliteConnection& connection, Pages& pages,
                                       const TableScan& scan) {
  const auto columns = columns_of(connection, scan.table);
  if (!columns) return std::nullopt;
  std::size_t count = 0;
  const auto position = [&](std::string_view name) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(columns->names, name);
    const auto index = static_cast<std::size_t>(found - columns->names.begin());
    // A record written before the column was added does not contain the column.
    if (found == columns->names.end() || columns->has_default[index]) return std::nullopt;
    count = std::max(count, index + 1);
    return index;
  };
  PageScan rows(connection, pages);
  for (const std::string_view name : scan.columns) {
    const auto column = position(name);
    if (!column) return std::nullopt;
    rows.columns_.push_back(*column);
  }
  for (const TableScan::AnyOf& any_of : scan.conditions) {
    const auto column = position(any_of.column);
    if (!column) return std::nullopt;
    rows.conditions_.push_back({*column, false, any_of.values});
    std::ranges::sort(rows.conditions_.back().values);
  }
  if (scan.time) {
    const auto column = position(scan.time->column);
    if (!column) return std::nullopt;
    rows.conditions_.push_back({*column, true, {scan.time->from, scan.time->before}});
  }
  db::Query query =
      connection.query("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (!query.bind(1, Value::of(scan.table)).step()) return std::nullopt;
  const std::int64_t root = query.column(0).integer;
  if (root < 2 || std::cmp_greater(root, pages.count())) return std::nullopt;
  rows.key_column_ = columns->key;
  rows.places_.resize(count);
  rows.from_ = scan.from;
  rows.before_ = scan.before;
  rows.levels_.push_back(
      {{{static_cast<std::uint32_t>(root), min_key, std::numeric_limits<std::int64_t>::max()}}});
  return rows;
}

bool PageScan::step() {
  while (true) {
    while (next_cell_ < cells_) {
      read_cell();
      if (key_ < from_) continue;
      if (key_ >= before_) return false;
      read_header();
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
  const char* const page = pages_.read_ahead(child.page);
  if (page[0] == leaf_page) {
    leaf_ = child;
    page_ = page;
    cells_ = cells_of(page);
    next_cell_ = 0;
    key_ = child.after;
    return;
  }
  if (page[0] != interior_page || levels_.size() == max_levels) throw_damaged_page();
  levels_.push_back({children_of(child, page)});
}

std::vector<PageScan::Child> PageScan::children_of(const Child& parent, const char* page) const {
  std::vector<Child> children;
  const std::size_t count = cells_of(page);
  const char* const end = page + pages_.page_size();
  std::int64_t after = parent.after;
  for (std::size_t cell = 0; cell < count; ++cell) {
    const char* at = cell_at(page, pages_.page_size(), interior_header_size, cell);
    if (end - at < 4) throw_damaged_page();
    const auto child = read_number<std::uint32_t>(at);
    at += 4;
    const auto last = static_cast<std::int64_t>(read_varint(at, end));
    // Keys must ascend strictly, so that a cycle of pages ends the scan.
    if (last <= after || last >= parent.last) throw_damaged_page();
    children.push_back({child, after, last});
    after = last;
  }
  children.push_back({read_number<std::uint32_t>(page + leaf_header_size), after, parent.last});
  return children;
}

void PageScan::read_cell() {
  const char* at = cell_at(page_, pages_.page_size(), leaf_header_size, next_cell_);
  const char* const end = page_ + pages_.page_size();
  const std::uint64_t size = read_varint(at, end);
  const auto key = static_cast<std::int64_t>(read_varint(at, end));
  const bool is_in_order = key > key_ || (next_cell_ == 0 && key == min_key);
  ++next_cell_;
  if (!is_in_order || key > leaf_.last || size > max_record_size) throw_damaged_page();
  key_ = key;
  if (key < from_ || key >= before_) return;
  // A record up to this size is stored completely in its leaf.
  if (size <= pages_.page_size() - 35) {
    if (std::cmp_less(end - at, size)) throw_damaged_page();
    record_ = {at, static_cast<std::size_t>(size)};
  } else {
    record_ = whole_payload(size, at, end);
  }
}

std::string_view PageScan::whole_payload(std::uint64_t size, const char* at, const char* end) {
  const std::size_t usable = pages_.page_size();
  const std::size_t least = (usable - 12) * 32 / 255 - 23;
  const std::size_t best = least + (size - least) % (usable - 4);
  const std::size_t local = best <= usable - 35 ? best : least;
  if (std::cmp_less(end - at, local + 4)) throw_damaged_page();
  if (size / usable > pages_.count()) throw_damaged_page();
  overflow_.assign(at, at + local);
  auto next = read_number<std::uint32_t>(at + local);
  while (overflow_.size() < size) {
    pages_.read(next, other_);
    next = read_number<std::uint32_t>(other_.data());
    const std::size_t count = std::min<std::size_t>(size - overflow_.size(), usable - 4);
    overflow_.insert(overflow_.end(), other_.begin() + 4,
                     other_.begin() + 4 + static_cast<std::ptrdiff_t>(count));
  }
  return {overflow_.data(), overflow_.size()};
}

void PageScan::read_header() {
  const char* at = record_.data();
  const char* const end = at + record_.size();
  const std::uint64_t header = read_varint(at, end);
  if (header > record_.size()) throw_damaged_page();
  const char* const end_of_header = record_.data() + header;
  auto offset = static_cast<std::size_t>(header);
  for (Place& place : places_) {
    if (at >= end_of_header) {  // the record was written before the column was added
      place = {};
      continue;
    }
    place.type = read_varint(at, end_of_header);
    place.offset = offset;
    place.size = size_of_type(place.type);
    if (place.size > record_.size() - offset) throw_damaged_page();
    offset += place.size;
  }
}

Value PageScan::value_at(std::size_t column) const {
  if (column == key_column_) return Value::of(key_);
  const Place& place = places_[column];
  const std::string_view bytes = record_.substr(place.offset, place.size);
  if (place.type >= 12) {
    return place.type % 2 == 0 ? Value::blob(bytes) : Value::of(bytes);
  }
  constexpr std::uint64_t real = 7;
  constexpr std::uint64_t zero = 8;
  constexpr std::uint64_t one = 9;
  if (place.type == zero || place.type == one) {
    return Value::of(static_cast<std::int64_t>(place.type - zero));
  }
  if (bytes.empty() || place.type == real) return Value::null();
  return Value::of(read_integer(bytes.data(), bytes.size()));
}

bool PageScan::satisfies(const Condition& condition) const {
  const Value value = value_at(condition.column);
  if (value.is_null()) return false;
  if (value.kind != Value::Kind::integer) throw_damaged_page();
  if (condition.is_range) {
    return value.integer >= condition.values[0] && value.integer < condition.values[1];
  }
  return std::ranges::binary_search(condition.values, value.integer);
}

void PageScan::bind(int, const Value&) {
  throw Error(Code::internal, "a scan has no parameters");
}
void PageScan::bind(std::string_view, const Value&) {
  throw Error(Code::internal, "a scan has no parameters");
}
std::int64_t PageScan::run() {
  throw Error(Code::internal, "a scan changes nothing");
}
std::optional<std::int64_t> PageScan::insert() {
  throw Error(Code::internal, "a scan changes nothing");
}

}  // namespace comptroller::db::sqlite
