// Writes cells of Arrow arrays as CSV and JSON text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "arrow/line_values.hpp"

namespace comptroller::arrow {

// What the text of a column may contain. Only columns of texts use it.
struct TextContent {
  bool is_formula = false;  // any text, so that formulas get an apostrophe in CSV
  bool is_json = false;     // JSON, written to JSON unchanged
};

// Writes the cells of a column: int64, decimal128, timestamp[us], large_utf8, or large_list of
// large_utf8. Decimals have no trailing zeros. Timestamps are RFC 3339, with Z if the type has a
// zone. Lists are JSON. For one thread at a time.
class TextCells {
 public:
  // Throws invalid_request for any other type.
  TextCells(const ArrowSchema& schema, TextContent content);

  // Appends a value, quoted if CSV requires it; nothing if it is unset.
  void append_csv(std::string& out, const ArrowArray& array, std::int64_t row);
  // Writes a value, null if it is unset.
  void write_json(json::JsonWriter& out, const ArrowArray& array, std::int64_t row);

 private:
  enum class Kind : std::uint8_t { number, timestamp, text, list };

  // Returns the text of a value that is set; valid until the next call.
  std::string_view text_of(const ArrowArray& array, std::int64_t row);
  std::string_view timestamp_text(std::int64_t microseconds);

  LineValues values_;
  Kind kind_ = Kind::number;
  TextContent content_;
  std::size_t scale_ = 0;  // of a decimal
  bool has_zone_ = false;  // of a timestamp
  DecimalBuffer buffer_{};
  std::string list_;
};

}  // namespace comptroller::arrow
