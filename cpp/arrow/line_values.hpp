// Writes cells of Arrow arrays as the members of lines to load.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/abi.hpp"
#include "json/writer.hpp"

namespace comptroller::arrow {

// Returns a value of a buffer, whatever its alignment.
template <class T>
T value_at(const void* values, std::int64_t index) {
  T value{};
  std::memcpy(&value, static_cast<const T*>(values) + index, sizeof value);
  return value;
}

// Writes the cells of a column, or of a member inside one, as JSON. Decimals are exact text.
// Timestamps are RFC 3339 in UTC, truncated after six fraction digits. Dictionaries are written as
// their values. Maps, and lists of pairs, which libraries make of maps, are objects. Unset members
// of records are omitted. Immutable.
class LineValues {
 public:
  // `path` names the column in error messages. Integers are written as text if they are amounts.
  LineValues(const ArrowSchema& schema, std::string path, bool is_amount = false);

  // Rows are counted from the array's own offset.
  bool is_set(const ArrowArray& array, std::int64_t row) const {
    if (kind_ == Kind::unset) return false;
    const std::int64_t index = array.offset + row;
    if (has_bitmap_ && array.buffers[0] != nullptr) {
      const auto bits = value_at<unsigned char>(array.buffers[0], index / 8);
      if ((bits >> static_cast<unsigned>(index % 8) & 1U) == 0) return false;
    }
    if (kind_ != Kind::dictionary) return true;
    return children_.front().is_set(*array.dictionary, integer_at(array, index));
  }
  // Writes a value, null if it is unset. Throws invalid_request, which names the column, for a type
  // whose values have no exact meaning as a member: a float, a timestamp without a zone, bytes.
  void write(json::JsonWriter& out, const ArrowArray& array, std::int64_t row) const;

 private:
  enum class Kind : std::uint8_t {
    unset,
    boolean,
    integer,
    decimal,
    text,
    timestamp,
    dictionary,
    list,
    record,
    map,
    refused,
  };
  enum class Layout : std::uint8_t { narrow, wide, narrow_view, wide_view, fixed };

  struct Range {
    std::int64_t begin, end;
  };

  void read_format(const ArrowSchema& schema);
  void read_decimal(std::string_view format);
  void read_nested(const ArrowSchema& schema);
  void refuse(std::string why);
  bool is_pairs() const;

  std::int64_t integer_at(const ArrowArray& array, std::int64_t index) const;
  std::string_view text_at(const ArrowArray& array, std::int64_t index) const;
  Range range_at(const ArrowArray& array, std::int64_t index) const;
  void write_integer(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_decimal(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_timestamp(json::JsonWriter& out, std::int64_t ticks) const;
  void write_list(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_record(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_map(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;

  std::string path_;
  std::string name_;
  Kind kind_ = Kind::refused;
  Layout layout_ = Layout::narrow;  // of a text or a list
  bool has_bitmap_ = true;          // of validity
  bool is_amount_ = false;
  bool is_signed_ = true;            // of an integer type
  int width_ = 8;                    // bytes of an integer or a decimal; items of a fixed-size list
  int scale_ = 0;                    // of a decimal
  std::int64_t ticks_a_second_ = 0;  // of a timestamp
  std::string refusal_;
  std::vector<LineValues> children_;  // of a dictionary: its values
};

}  // namespace comptroller::arrow
