#include "sqlite_format/src/table_page.hpp"

#include "sqlite_format/src/bytes.hpp"
#include "sqlite_format/src/record.hpp"

namespace sqlite_format {

namespace {

constexpr char interior_page = 5;
constexpr char leaf_page = 13;
constexpr std::size_t interior_header_size = 12;
constexpr std::size_t leaf_header_size = 8;

// Returns the start of a cell, whose offset is in the array after the page header.
const char* cell_at(const TablePage& page, std::size_t header, std::size_t cell) {
  const std::size_t place = header + 2 * cell;
  if (place + 2 > page.size) throw_corrupt();
  const auto offset = read_number<std::uint16_t>(page.bytes + place);
  if (offset < header || offset >= page.size) throw_corrupt();
  return page.bytes + offset;
}

}  // namespace

bool TablePage::is_leaf() const {
  if (bytes[0] == leaf_page) return true;
  if (bytes[0] != interior_page) throw_corrupt();
  return false;
}

std::size_t TablePage::cells() const {
  return read_number<std::uint16_t>(bytes + 3);
}

TablePage::Child TablePage::child(std::size_t cell) const {
  const char* at = cell_at(*this, interior_header_size, cell);
  const char* const end = bytes + size;
  if (end - at < 4) throw_corrupt();
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
  if (record_size > max_record_size) throw_corrupt();
  return {key, record_size, at};
}

}  // namespace sqlite_format
