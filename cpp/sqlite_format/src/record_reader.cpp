#include "sqlite_format/src/record_reader.hpp"

#include <algorithm>
#include <utility>

#include "sqlite_format/src/bytes.hpp"
#include "sqlite_format/src/record.hpp"

namespace sqlite_format {

RecordReader::RecordReader(Pages& pages, const Table& table, std::span<const std::size_t> columns,
                           std::size_t rows)
    : pages_(pages), width_(columns.size()), values_(rows * columns.size()) {
  for (std::size_t index = 0; index < columns.size(); ++index) {
    if (columns[index] == always_null) continue;
    if (columns[index] == table.key) {
      keys_.push_back(index);
    } else {
      choices_.push_back({columns[index], index});
    }
  }
  std::ranges::sort(choices_, {}, &Choice::position);
}

bool RecordReader::read(const TablePage& page, const TablePage::Cell& cell, std::size_t row) {
  const std::string_view record = payload(page, cell);
  const char* at = record.data();
  const std::uint64_t header = read_varint(at, at + record.size());
  if (header > record.size()) throw_corrupt();
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
      size = size_of_serial_type(type);
      ++next;
    }
    if (offset + size > record.size()) throw_corrupt();
    values[index] = value_of(record, type, offset, size);
  }
  for (const std::size_t index : keys_) values[index] = Value::of(cell.key);
  return record.data() == cell.payload;
}

std::string_view RecordReader::payload(const TablePage& page, const TablePage::Cell& cell) {
  const char* const end = page.bytes + page.size;
  const std::size_t local = local_size(cell.size, page.size - 35, page.size);
  const bool is_long = local < cell.size;
  if (std::cmp_less(end - cell.payload, local + (is_long ? 4 : 0))) throw_corrupt();
  if (!is_long) return {cell.payload, local};
  if (cell.size / page.size > pages_.count()) throw_corrupt();
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

}  // namespace sqlite_format
