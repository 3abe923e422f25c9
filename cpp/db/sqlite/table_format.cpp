#include "db/sqlite/table_format.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "db/sqlite/connection.hpp"
#include "db/sqlite/file_header.hpp"
#include "model/error.hpp"

namespace comptroller::db::sqlite {

namespace {

constexpr std::size_t interior_header_size = 12;
constexpr std::size_t leaf_header_size = 8;
constexpr std::uint64_t max_record_size = 1'000'000'000;  // SQLite's own limit

TableShape::Affinity affinity_of(std::string_view type) {
  using enum TableShape::Affinity;
  if (type == "INTEGER") return integer;
  if (type == "TEXT") return text;
  return type.empty() ? none : other;
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
const char* cell_at(const TablePage& page, std::size_t header, std::size_t cell) {
  const std::size_t place = header + 2 * cell;
  if (place + 2 > page.size) throw_damaged_page();
  const auto offset = read_number<std::uint16_t>(page.bytes + place);
  if (offset < header || offset >= page.size) throw_damaged_page();
  return page.bytes + offset;
}

}  // namespace

void throw_damaged_page() {
  throw Error::damaged("a page of its file is not as SQLite writes it");
}

std::uint64_t read_long_varint(const char*& at, const char* end) {
  std::uint64_t number = 0;
  for (int count = 1; at < end; ++count) {
    const auto byte = static_cast<unsigned char>(*at++);
    if (count == 9) return number << 8U | byte;
    number = number << 7U | (byte & 0x7FU);
    if (byte < 0x80) return number;
  }
  throw_damaged_page();
}

std::optional<TableShape> TableShape::of(SqliteConnection& connection, std::string_view table) {
  TableShape shape;
  db::Query columns = connection.query(
      "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden"
      " FROM pragma_table_xinfo(?)");
  columns.bind(1, table);
  std::size_t keys = 0;
  while (columns.step()) {
    const Affinity affinity = affinity_of(columns.column(1).bytes);
    if (columns.column(5).integer != 0) return std::nullopt;
    if (columns.column(4).integer != 0) {
      if (affinity != Affinity::integer || ++keys > 1) return std::nullopt;
      shape.key = shape.columns.size();
    }
    shape.columns.push_back({std::string(columns.column(0).bytes), affinity,
                             columns.column(2).integer != 0, columns.column(3).integer != 0});
  }
  if (keys == 0) return std::nullopt;
  db::Query root =
      connection.query("SELECT rootpage FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (!root.bind(1, table).step()) return std::nullopt;
  shape.root = static_cast<std::uint32_t>(root.column(0).integer);
  if (shape.root < 2) return std::nullopt;
  return shape;
}

std::optional<std::size_t> TableShape::find(std::string_view name) const {
  const auto found = std::ranges::find(columns, name, &Column::name);
  if (found == columns.end() || found->has_default) return std::nullopt;
  return static_cast<std::size_t>(found - columns.begin());
}

bool TablePage::is_leaf() const {
  if (bytes[0] == leaf_page) return true;
  if (bytes[0] != interior_page) throw_damaged_page();
  return false;
}

std::size_t TablePage::cells() const {
  return read_number<std::uint16_t>(bytes + 3);
}

TablePage::Child TablePage::child(std::size_t cell) const {
  const char* at = cell_at(*this, interior_header_size, cell);
  const char* const end = bytes + size;
  if (end - at < 4) throw_damaged_page();
  const auto page = read_number<std::uint32_t>(at);
  at += 4;
  return {page, static_cast<std::int64_t>(read_varint(at, end))};
}

std::uint32_t TablePage::last_child() const {
  return read_number<std::uint32_t>(bytes + leaf_header_size);
}

TablePage::Cell TablePage::cell(std::size_t cell) const {
  const char* at = cell_at(*this, leaf_header_size, cell);
  const char* const end = bytes + size;
  const std::uint64_t record_size = read_varint(at, end);
  const auto key = static_cast<std::int64_t>(read_varint(at, end));
  if (record_size > max_record_size) throw_damaged_page();
  return {key, record_size, at};
}

std::optional<RecordReader> RecordReader::make(SqliteConnection& connection, Pages& pages,
                                               std::string_view table,
                                               std::span<const std::string_view> columns) {
  const auto shape = TableShape::of(connection, table);
  if (!shape) return std::nullopt;
  RecordReader reader(pages);
  reader.root_ = shape->root;
  reader.key_column_ = shape->key;
  for (const std::string_view name : columns) {
    if (name.starts_with("NULL AS ")) {
      reader.columns_.push_back(no_column);
      continue;
    }
    const auto column = shape->find(name);
    if (!column) return std::nullopt;
    reader.columns_.push_back(*column);
    reader.places_.resize(std::max(reader.places_.size(), *column + 1));
  }
  return reader;
}

void RecordReader::read(const TablePage& page, const TablePage::Cell& cell) {
  key_ = cell.key;
  record_ = payload(page, cell);
  read_header();
}

std::string_view RecordReader::payload(const TablePage& page, const TablePage::Cell& cell) {
  const char* const end = page.bytes + page.size;
  const std::size_t local = local_size(cell.size, page.size - 35, page.size);
  const bool is_long = local < cell.size;
  if (std::cmp_less(end - cell.payload, local + (is_long ? 4 : 0))) throw_damaged_page();
  if (!is_long) return {cell.payload, local};
  if (cell.size / page.size > pages_.count()) throw_damaged_page();
  long_record_.assign(cell.payload, cell.payload + local);
  auto next = read_number<std::uint32_t>(cell.payload + local);
  while (long_record_.size() < cell.size) {
    pages_.copy(next, overflow_);
    next = read_number<std::uint32_t>(overflow_.data());
    const std::size_t count = std::min<std::size_t>(cell.size - long_record_.size(), page.size - 4);
    long_record_.insert(long_record_.end(), overflow_.begin() + 4,
                        overflow_.begin() + 4 + static_cast<std::ptrdiff_t>(count));
  }
  return {long_record_.data(), long_record_.size()};
}

void RecordReader::read_header() {
  const std::size_t size = record_.size();
  const char* at = record_.data();
  const std::uint64_t header = read_varint(at, at + size);
  if (header > size) throw_damaged_page();
  const char* const end = record_.data() + header;
  auto offset = static_cast<std::size_t>(header);
  for (Place& place : places_) {
    if (at >= end) {  // the record was written before the column was added
      place = {};
      continue;
    }
    const std::uint64_t type = read_varint(at, end);
    const std::size_t length = size_of_type(type);
    if (length > size - offset) throw_damaged_page();
    place = {type, offset, length};
    offset += length;
  }
}

Value RecordReader::column(int index) const {
  const std::size_t column = columns_[static_cast<std::size_t>(index)];
  if (column == key_column_) return Value::of(key_);
  if (column == no_column) return Value::null();
  const Place& place = places_[column];
  const std::string_view bytes(record_.data() + place.offset, place.size);
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

}  // namespace comptroller::db::sqlite
