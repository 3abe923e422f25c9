// Decodes the chosen columns of a table's records, as SQL would.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/pages.hpp"
#include "sqlite_format/src/table.hpp"
#include "sqlite_format/src/table_page.hpp"

namespace sqlite_format {

class RecordReader {
 public:
  // Has places for the values of `rows` records. Must not outlive the pages.
  RecordReader(Pages& pages, const Table& table, std::span<const std::size_t> columns,
               std::size_t rows);

  // Decodes a record into the place of a row. The page must not change while values of the record
  // are in use. Returns false if they are also overwritten by the next read, because the record
  // continues in overflow pages.
  bool read(const TablePage& page, const TablePage::Cell& cell, std::size_t row = 0);
  const Value* row(std::size_t row) const { return values_.data() + row * width_; }

 private:
  struct Choice {
    std::size_t position = 0;  // in the record
    std::size_t index = 0;     // of the value
  };

  std::string_view payload(const TablePage& page, const TablePage::Cell& cell);

  Pages& pages_;
  std::vector<Choice> choices_;    // in order of position
  std::vector<std::size_t> keys_;  // indexes of the values that are the key
  std::size_t width_;
  std::vector<Value> values_;
  std::vector<char> long_record_;  // a record that does not fit in its leaf
  std::vector<char> overflow_;     // an overflow page
};

}  // namespace sqlite_format
