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

TableShape::Affinity affinity_of(std::string_view type, bool is_strict) {
  using enum TableShape::Affinity;
  if (type == "INTEGER") return integer;
  if (type == "TEXT") return text;
  return type.empty() || (is_strict && type == "ANY") ? none : other;
}

constexpr std::array<std::uint8_t, 128> sizes_of_one_byte_types = [] {
  std::array<std::uint8_t, 128> sizes{0, 1, 2, 3, 4, 6, 8, 8};
  for (std::size_t type = 12; type < sizes.size(); ++type) {
    sizes[type] = static_cast<std::uint8_t>((type - 12) / 2);
  }
  return sizes;
}();

std::size_t size_of_type(std::uint64_t type) {
  if (type < sizes_of_one_byte_types.size()) return sizes_of_one_byte_types[type];
  return type / 2 > max_record_size ? max_record_size : static_cast<std::size_t>((type - 12) / 2);
}

// Reads a big-endian integer that ends at `end`; `size` is 1 to 8. The record has a header, so that
// the bytes before the integer can usually be read, too.
std::int64_t read_integer(std::string_view record, std::size_t end, std::size_t size) {
  const std::size_t unused_bits = 8 * (sizeof(std::uint64_t) - size);
  std::uint64_t bits = 0;
  if (end >= sizeof bits) {
    bits = read_number<std::uint64_t>(record.data() + end - sizeof bits);
  } else {
    for (const char byte : record.substr(end - size, size)) {
      bits = bits << 8U | static_cast<unsigned char>(byte);
    }
  }
  return static_cast<std::int64_t>(bits << unused_bits) >> unused_bits;
}

Value value_of(std::string_view record, std::uint64_t type, std::size_t offset, std::size_t size) {
  constexpr std::uint64_t shortest_integer = 1;
  constexpr std::uint64_t longest_integer = 6;
  constexpr std::uint64_t real = 7;
  constexpr std::uint64_t zero = 8;
  constexpr std::uint64_t one = 9;
  constexpr std::uint64_t empty_blob = 12;
  if (type >= shortest_integer && type <= longest_integer) {
    return Value::of(read_integer(record, offset + size, size));
  }
  if (type >= empty_blob) {
    const std::string_view bytes(record.data() + offset, size);
    return type % 2 == 0 ? Value::blob(bytes) : Value::of(bytes);
  }
  if (type == zero || type == one) return Value::of(static_cast<std::int64_t>(type - zero));
  return type == real ? Value::real() : Value::null();
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
  db::Query definition = connection.query(
      "SELECT rootpage, sql LIKE '%) STRICT' FROM sqlite_schema WHERE type = 'table' AND name = ?");
  if (!definition.bind(1, table).step()) return std::nullopt;
  shape.root = static_cast<std::uint32_t>(definition.column(0).integer);
  const bool is_strict = definition.column(1).integer != 0;
  if (shape.root < 2) return std::nullopt;
  db::Query columns = connection.query(
      "SELECT name, type, \"notnull\", dflt_value IS NOT NULL, pk, hidden"
      " FROM pragma_table_xinfo(?)");
  columns.bind(1, table);
  std::size_t keys = 0;
  while (columns.step()) {
    const Affinity affinity = affinity_of(columns.column(1).bytes, is_strict);
    if (columns.column(5).integer != 0) return std::nullopt;
    if (columns.column(4).integer != 0) {
      if (affinity != Affinity::integer || ++keys > 1) return std::nullopt;
      shape.key = shape.columns.size();
    }
    shape.columns.push_back({std::string(columns.column(0).bytes), affinity,
                             columns.column(2).integer != 0, columns.column(3).integer != 0});
  }
  if (keys == 0) return std::nullopt;
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
                                               std::span<const std::string_view> columns,
                                               std::size_t rows) {
  const auto shape = TableShape::of(connection, table);
  if (!shape) return std::nullopt;
  RecordReader reader(pages);
  reader.table_ = table;
  reader.names_.assign(columns.begin(), columns.end());
  reader.root_ = shape->root;
  reader.width_ = columns.size();
  reader.values_.resize(rows * columns.size());
  for (std::size_t index = 0; index < columns.size(); ++index) {
    if (columns[index].starts_with("NULL AS ")) continue;
    const auto position = shape->find(columns[index]);
    if (!position) return std::nullopt;
    if (*position == shape->key) {
      reader.keys_.push_back(index);
    } else {
      reader.choices_.push_back({*position, index});
    }
  }
  std::ranges::sort(reader.choices_, {}, &Choice::position);
  return reader;
}

bool RecordReader::read(const TablePage& page, const TablePage::Cell& cell, std::size_t row) {
  const std::string_view record = payload(page, cell);
  const char* at = record.data();
  const std::uint64_t header = read_varint(at, at + record.size());
  if (header > record.size()) throw_damaged_page();
  const char* const end = record.data() + header;
  auto offset = static_cast<std::size_t>(header);
  std::size_t size = 0;
  std::uint64_t type = 0;
  std::size_t next = 0;  // position
  Value* const values = values_.data() + row * width_;
  for (const auto [position, index] : choices_) {
    while (next <= position) {
      offset += size;
      // A record that was written before the column was added ends before it; the value is NULL.
      type = at < end ? read_varint(at, end) : 0;
      size = size_of_type(type);
      ++next;
    }
    if (offset + size > record.size()) throw_damaged_page();
    values[index] = value_of(record, type, offset, size);
  }
  for (const std::size_t index : keys_) values[index] = Value::of(cell.key);
  return record.data() == cell.payload;
}

std::string RecordReader::place_of(int index, std::int64_t key) const {
  return table_ + "." + names_.at(static_cast<std::size_t>(index)) + " of key " +
         std::to_string(key);
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

}  // namespace comptroller::db::sqlite
