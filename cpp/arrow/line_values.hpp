// Writes cells of Arrow arrays as the members of lines to load.
#pragma once

#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "arrow/abi.hpp"
#include "json/writer.hpp"
#include "model/amount.hpp"

namespace comptroller::arrow {

// Returns a value of a buffer, whatever its alignment.
template <class T>
T value_at(const void* values, std::int64_t index) {
  T value{};
  std::memcpy(&value, static_cast<const T*>(values) + index, sizeof value);
  return value;
}

inline bool bit_at(const void* bits, std::int64_t index) {
  const auto byte = value_at<unsigned char>(bits, index / 8);
  return (byte >> static_cast<unsigned>(index % 8) & 1U) != 0;
}

// What a line contains of a column.
enum class Use : std::uint8_t {
  value,
  amount,    // its values; integers as text
  text,      // its values, which must not be times
  document,  // its values; text that is a JSON array or object as that
  boolean,   // its values; the text true or false, in any case, as that
  counted,   // 0 in place of each value, whatever its type
  omitted,
};

// Writes the cells of a column, or of a member inside one, as JSON. Decimals are exact text.
// Timestamps are RFC 3339 in UTC, truncated after six fraction digits. Dictionaries are written as
// their values. Maps, and lists of pairs, which libraries make of maps, are objects. Unset members
// of records are omitted. Immutable.
class LineValues {
 public:
  // `path` names the column in error messages.
  LineValues(const ArrowSchema& schema, std::string path, Use use = Use::value);
  // The rows of a stream, as records; `use_of` is called once for each column.
  LineValues(const ArrowSchema& stream, const std::function<Use(std::string_view name)>& use_of);

  // Rows are counted from the array's own offset.
  bool is_set(const ArrowArray& array, std::int64_t row) const {
    if (kind_ == Kind::unset) return false;
    const std::int64_t index = array.offset + row;
    if (has_bitmap_ && array.buffers[0] != nullptr && !bit_at(array.buffers[0], index)) {
      return false;
    }
    if (kind_ == Kind::floating) return !is_nan(array, index);
    if (kind_ != Kind::dictionary) return true;
    return children_.front().is_set(*array.dictionary, code_at(array, index));
  }
  // Writes a value, null if it is unset (which NaN is). A date is its start in UTC. Throws
  // invalid_request, which names the column, for a type whose values have no exact meaning as the
  // member: a float, a timestamp without a zone, bytes, a time as a text.
  void write(json::JsonWriter& out, const ArrowArray& array, std::int64_t row) const;
  // Writes the record at an index of the buffers, even if its own validity is unset; `empty` if no
  // member is set.
  void write_record(json::JsonWriter& out, const ArrowArray& array, std::int64_t index,
                    std::string_view empty = "{}") const;

  // Return the value at an index of the buffers. A number is an integer, or a decimal without its
  // scale; of a decimal of 256 bits it is the lower half.
  Int128 number_at(const ArrowArray& array, std::int64_t index) const {
    return read_number_(array.buffers[1], index);
  }
  std::string_view text_at(const ArrowArray& array, std::int64_t index) const;

 private:
  enum class Kind : std::uint8_t {
    unset,
    boolean,
    integer,
    decimal,
    text,
    timestamp,
    date,
    uuid,
    floating,
    dictionary,
    list,
    record,
    map,
    refused,
  };
  struct Range {
    std::int64_t begin, end;
  };

  void read_format(const ArrowSchema& schema);
  void read_decimal(std::string_view format);
  void read_nested(const ArrowSchema& schema);
  void refuse(std::string why);
  bool is_pairs() const;
  bool is_nan(const ArrowArray& array, std::int64_t index) const;

  std::int64_t code_at(const ArrowArray& array, std::int64_t index) const {
    return static_cast<std::int64_t>(number_at(array, index));
  }
  Range range_at(const ArrowArray& array, std::int64_t index) const;
  void write_text(json::JsonWriter& out, std::string_view text) const;
  void write_decimal(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_timestamp(json::JsonWriter& out, std::int64_t ticks) const;
  void write_list(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;
  void write_map(json::JsonWriter& out, const ArrowArray& array, std::int64_t index) const;

  std::string path_;
  std::string opening_;  // of a member: its name and a colon
  Use use_ = Use::value;
  Kind kind_ = Kind::refused;
  bool is_wide_ = false;    // offsets of a text or a list have 64 bits
  bool is_view_ = false;    // of a text or a list
  bool has_bitmap_ = true;  // of validity
  Int128 (*read_number_)(const void* values, std::int64_t index) = nullptr;
  bool has_upper_half_ = false;  // of a decimal of 256 bits
  int scale_ = 0;                // of a decimal
  int float_bytes_ = 0;
  std::optional<int> items_per_list_;  // of a fixed-size list
  std::int64_t ticks_per_second_ = 0;  // of a timestamp
  std::string refusal_;
  std::vector<LineValues> children_;  // of a dictionary: its values
};

}  // namespace comptroller::arrow
