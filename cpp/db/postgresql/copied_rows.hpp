// Rows in the binary format of COPY.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/query.hpp"

namespace comptroller::db::postgresql {

// The signature, no flags, and no extension.
inline constexpr std::string_view copied_header("PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
// Follows the rows, in the place of the number of columns.
inline constexpr std::int64_t end_of_copied = -1;

// A statement whose parameters are the columns of rows, to be bound in order. It is never executed.
class CopiedRows final : public Statement {
 public:
  // `types` are those of the columns.
  explicit CopiedRows(std::vector<unsigned> types) : types_(std::move(types)) {}

  void bind(int index, const Value& value) override;

  unsigned type(std::size_t column) const { return types_[column]; }
  std::size_t bytes() const { return bytes_.size(); }
  std::size_t size() const { return values_.size() / types_.size(); }
  // The encoded value of a column of a row, with its length; valid until the next bind.
  std::string_view value(std::size_t row, std::size_t column) const;

  // Returns the data of a COPY of all rows, or of some with a further, first column of keys.
  std::string data() const;
  std::string data(std::span<const std::size_t> rows, std::span<const std::int64_t> keys) const;

 private:
  void append_row(std::size_t row, std::string& out) const;

  std::vector<unsigned> types_;
  std::string bytes_;
  std::vector<std::size_t> values_;  // the begin of each in bytes_
};

}  // namespace comptroller::db::postgresql
