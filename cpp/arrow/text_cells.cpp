#include "arrow/text_cells.hpp"

#include <charconv>
#include <limits>

#include "files/csv.hpp"
#include "model/amount.hpp"
#include "model/error.hpp"
#include "model/timestamp.hpp"

namespace comptroller::arrow {

TextCells::TextCells(const ArrowSchema& schema, TextContent content)
    : values_(schema, ""), content_(content) {
  const std::string_view format = schema.format;
  if (format == "l") return;
  if (format == "U") {
    kind_ = Kind::text;
  } else if (format == "+L" && std::string_view(schema.children[0]->format) == "U") {
    kind_ = Kind::list;
  } else if (format.starts_with("tsu:")) {
    kind_ = Kind::timestamp;
    has_zone_ = format != "tsu:";
  } else if (format.starts_with("d:") && format.ends_with(",128")) {
    std::from_chars(format.data() + format.find(',') + 1, format.data() + format.size(), scale_);
  } else {
    throw Error::invalid("columns",
                         "the Arrow type " + std::string(format) + " cannot be written as text");
  }
}

void TextCells::append_csv(std::string& out, const ArrowArray& array, std::int64_t row) {
  if (!values_.is_set(array, row)) return;
  const std::string_view text = text_of(array, row);
  if (kind_ != Kind::text && kind_ != Kind::list) {
    out += text;
  } else {
    files::append_cell(out, text, content_.is_formula);
  }
}

void TextCells::write_json(json::JsonWriter& out, const ArrowArray& array, std::int64_t row) {
  if (!values_.is_set(array, row)) return out.put("null");
  if (kind_ == Kind::text) {
    const std::string_view text = text_of(array, row);
    content_.is_json ? out.put(text) : out.write(text);
  } else if (kind_ == Kind::timestamp) {
    out.write(Decimal{text_of(array, row)});
  } else {
    values_.write(out, array, row);
  }
}

std::string_view TextCells::text_of(const ArrowArray& array, std::int64_t row) {
  const std::int64_t index = array.offset + row;
  switch (kind_) {
    case Kind::number:
      return format_scaled(values_.number_at(array, index), scale_, buffer_);
    case Kind::timestamp:
      return timestamp_text(value_at<std::int64_t>(array.buffers[1], index));
    case Kind::text:
      return values_.text_at(array, index);
    case Kind::list: {
      list_.clear();
      json::JsonWriter list(list_);
      values_.write(list, array, row);
    }
  }
  return list_;
}

// A year outside 0001 to 9999 has as many digits as it needs, and a sign if it is negative.
std::string_view TextCells::timestamp_text(std::int64_t microseconds) {
  constexpr std::int64_t infinity = std::numeric_limits<std::int64_t>::max();
  if (microseconds == infinity) return "infinity";
  if (microseconds == -infinity) return "-infinity";
  constexpr std::size_t year_digits = 4;
  constexpr std::size_t year_room = 8;
  char* begin = buffer_.data() + year_room;
  char* end = begin + timestamp_length - 1;
  const bool is_usual =
      Timestamp{microseconds} >= earliest_timestamp && Timestamp{microseconds} <= latest_timestamp;
  if (is_usual) {
    format_timestamp(Timestamp{microseconds}, begin);
  } else {
    // The calendar repeats every 400 years.
    constexpr std::int64_t cycle = std::int64_t{146'097} * 86'400 * 1'000'000;
    const std::int64_t cycles = microseconds / cycle - (microseconds % cycle < 0 ? 1 : 0);
    format_timestamp(Timestamp{microseconds - cycles * cycle}, begin);
    std::int64_t year = 0;
    std::from_chars(begin, begin + year_digits, year);
    year += 400 * cycles;
    const std::string digits = year == 0 ? "0000" : std::to_string(year);
    begin += year_digits - digits.size();
    digits.copy(begin, digits.size());
  }
  while (end[-1] == '0') --end;
  if (end[-1] == '.') --end;
  if (has_zone_) *end++ = 'Z';
  return {begin, end};
}

}  // namespace comptroller::arrow
