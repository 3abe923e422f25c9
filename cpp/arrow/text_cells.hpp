// Cells of Arrow arrays as CSV and JSON text.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "arrow/abi.hpp"
#include "json/writer.hpp"

namespace comptroller::arrow {

// What its text may hold. Both matter for columns of texts alone.
struct TextContent {
  bool is_formula = false;  // anything, so that a formula is defused in CSV
  bool is_json = false;     // JSON, written to JSON as it is
};

// Writes the cells of a column: int64, decimal128, timestamp[us], large_utf8, or large_list of
// large_utf8. Decimals have no zeros at their end, timestamps are RFC 3339 (with Z if the type has
// a zone), lists are JSON. For one thread at a time.
class TextCells {
 public:
  // Throws invalid_request for any other type.
  TextCells(const ArrowSchema& schema, TextContent content);

  // Appends a value, quoted where CSV needs it; nothing if it is unset.
  void append_csv(std::string& out, const ArrowArray& array, std::int64_t row);
  // Writes a value; null if it is unset.
  void write_json(json::JsonWriter& out, const ArrowArray& array, std::int64_t row);

 private:
  enum class Kind : std::uint8_t { integer, decimal, timestamp, text, list };

  // The text of a value that is set, which is valid until the next one.
  std::string_view text_of(const ArrowArray& array, std::int64_t index);
  std::string_view list_text(const ArrowArray& array, std::int64_t index);
  std::string_view timestamp_text(std::int64_t microseconds);

  Kind kind_ = Kind::integer;
  TextContent content_;
  std::size_t scale_ = 0;  // of a decimal
  bool has_zone_ = false;  // of a timestamp
  std::array<char, 41> buffer_{};
  std::string list_;
};

}  // namespace comptroller::arrow
