#include "arrow/line_values.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "json/minified.hpp"
#include "model/error.hpp"
#include "model/timestamp.hpp"

namespace comptroller::arrow {

namespace {

constexpr std::int64_t micros_per_second = 1'000'000;
constexpr int max_scale = 38;
// Texts that the rules reject in the line, in place of values that a member cannot express.
constexpr std::string_view too_long = "a decimal of more than 38 digits";
constexpr std::string_view too_far = "a time outside the years 0001 to 9999";

// Returns `length` bytes of the buffer `number`.
std::string_view bytes_of(const ArrowArray& array, std::int64_t number, std::int64_t begin,
                          std::int64_t length) {
  if (length == 0) return {};  // the buffer may be null
  return {static_cast<const char*>(array.buffers[number]) + begin,
          static_cast<std::size_t>(length)};
}

Int128 lower_half(const void* values, std::int64_t index) {
  return value_at<Int128>(values, 2 * index);
}

template <class T>
Int128 number(const void* values, std::int64_t index) {
  return value_at<T>(values, index);
}

// Whether a text is a word of lower-case letters, in any case.
bool is_word(std::string_view text, std::string_view word) {
  return std::ranges::equal(text, word, {}, [](char letter) {
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
}

std::string_view name_of(const ArrowSchema& schema) {
  return schema.name == nullptr ? "" : schema.name;
}

// Returns the name of the extension type of a column, from its metadata: the number of pairs, then
// the length and bytes of each key and value.
std::string_view extension_of(const ArrowSchema& schema) {
  const char* at = schema.metadata;
  if (at == nullptr) return {};
  const auto number = [&] {
    const auto value = value_at<std::int32_t>(at, 0);
    at += sizeof value;
    return value;
  };
  const auto text = [&] {
    const auto size = static_cast<std::size_t>(number());
    const std::string_view found(at, size);
    at += size;
    return found;
  };
  for (std::int32_t left = number(); left > 0; --left) {
    const std::string_view key = text();
    const std::string_view value = text();
    if (key == "ARROW:extension:name") return value;
  }
  return {};
}

// Returns the text before the value of a member.
std::string opening_of(std::string_view name) {
  std::string opening;
  json::JsonWriter(opening).write(name);
  return opening += ':';
}

void write_uuid(json::JsonWriter& out, std::string_view bytes) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (text.size() == 8 || text.size() == 13 || text.size() == 18 || text.size() == 23)
      text += '-';
    text += digits[value >> 4U];
    text += digits[value & 0xFU];
  }
  out.write(std::string_view(text));
}

// Returns the ticks a second of a unit of timestamps: s, m, u or n.
std::int64_t ticks_of(char unit) {
  if (unit == 's') return 1;
  if (unit == 'm') return 1'000;
  return unit == 'u' ? micros_per_second : 1'000 * micros_per_second;
}

}  // namespace

LineValues::LineValues(const ArrowSchema& schema, std::string path, Use use)
    : path_(std::move(path)), opening_(opening_of(name_of(schema))), use_(use) {
  read_format(schema);
  if (use == Use::text && (kind_ == Kind::date || kind_ == Kind::timestamp)) {
    refuse("is a date or a time, and the member is text; cast the column to text");
  }
  if (schema.dictionary != nullptr && kind_ == Kind::integer) {
    kind_ = Kind::dictionary;
    children_.emplace_back(*schema.dictionary, path_, use);
  }
  if (use == Use::omitted) kind_ = Kind::unset;
}

LineValues::LineValues(const ArrowSchema& stream,
                       const std::function<Use(std::string_view name)>& use_of)
    : kind_(Kind::record) {
  for (std::int64_t i = 0; i < stream.n_children; ++i) {
    const std::string_view name = name_of(*stream.children[i]);
    children_.emplace_back(*stream.children[i], std::string(name), use_of(name));
  }
}

void LineValues::refuse(std::string why) {
  kind_ = Kind::refused;
  refusal_ = std::move(why);
}

void LineValues::read_format(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  constexpr std::string_view integers = "cCsSiIlL";
  constexpr std::array read_integers{
      &number<std::int8_t>,  &number<std::uint8_t>,  &number<std::int16_t>, &number<std::uint16_t>,
      &number<std::int32_t>, &number<std::uint32_t>, &number<std::int64_t>, &number<std::uint64_t>};
  if (format == "n") {
    kind_ = Kind::unset;
    has_bitmap_ = false;
  } else if (format == "b") {
    kind_ = Kind::boolean;
  } else if (format.size() == 1 && integers.find(format) != std::string_view::npos) {
    kind_ = Kind::integer;
    read_number_ = read_integers[integers.find(format)];
  } else if (format == "u" || format == "U" || format == "vu") {
    kind_ = Kind::text;
    is_wide_ = format == "U";
    is_view_ = format == "vu";
  } else if (format.starts_with("d:")) {
    read_decimal(format.substr(2));
  } else if (format.starts_with("ts") && format.size() >= 4) {
    kind_ = Kind::timestamp;
    ticks_per_second_ = ticks_of(format[2]);
    if (format.size() == 4)
      refuse("has no time zone; give timestamps with one, or tz=\"UTC\" for all of them");
  } else if (format == "tdD") {
    kind_ = Kind::date;
    read_number_ = &number<std::int32_t>;
  } else if (format == "tdm") {  // a date in milliseconds
    kind_ = Kind::timestamp;
    ticks_per_second_ = ticks_of('m');
  } else if (format == "w:16" && extension_of(schema) == "arrow.uuid") {
    kind_ = Kind::uuid;
  } else if (format == "e" || format == "f" || format == "g") {
    kind_ = Kind::floating;
    float_bytes_ = format == "e" ? 2 : format == "f" ? 4 : 8;
  } else if (format.starts_with('+')) {
    read_nested(schema);
  } else {
    const bool is_bytes =
        format == "z" || format == "Z" || format == "vz" || format.starts_with("w:");
    refuse((is_bytes ? "is bytes" : "has the Arrow type \"" + std::string(format) + '"') +
           "; give text, decimals, integers, booleans, UUIDs, timestamps with a time zone, or " +
           "lists and structs of these");
  }
}

// precision,scale[,bits]
void LineValues::read_decimal(std::string_view format) {
  kind_ = Kind::decimal;
  const char* const end = format.data() + format.size();
  int precision = 0;
  int bits = 128;
  auto at = std::from_chars(format.data(), end, precision).ptr;
  if (at != end) at = std::from_chars(at + 1, end, scale_).ptr;
  if (at != end) std::from_chars(at + 1, end, bits);
  has_upper_half_ = bits == 256;
  read_number_ = bits == 32        ? &number<std::int32_t>
                 : bits == 64      ? &number<std::int64_t>
                 : bits == 128     ? &number<Int128>
                 : has_upper_half_ ? &lower_half
                                   : nullptr;
  if (read_number_ == nullptr || scale_ > max_scale || scale_ < -max_scale) {
    refuse("has decimals of an unusual size; cast it to decimal(38, 18)");
  }
}

void LineValues::read_nested(const ArrowSchema& schema) {
  const std::string_view format = schema.format;
  if (format == "+s") {
    kind_ = Kind::record;
  } else if (format == "+m") {
    kind_ = Kind::map;
  } else if (format == "+l" || format == "+L" || format == "+vl" || format == "+vL") {
    kind_ = Kind::list;
    is_view_ = format[1] == 'v';
    is_wide_ = format.back() == 'L';
  } else if (format.starts_with("+w:")) {
    kind_ = Kind::list;
    std::from_chars(format.data() + 3, format.data() + format.size(), items_per_list_.emplace());
  } else {
    has_bitmap_ = false;  // unions and run-end encoded arrays
    return refuse("has the Arrow type \"" + std::string(format) + "\"; give a struct or a list");
  }
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    const ArrowSchema& child = *schema.children[i];
    const bool is_member = kind_ == Kind::record && child.name != nullptr;
    children_.emplace_back(child, is_member ? path_ + '.' + child.name : path_,
                           use_ == Use::document || use_ == Use::text ? Use::text : Use::value);
  }
  if (kind_ == Kind::list && is_pairs()) kind_ = Kind::map;
}

// Whether the items are pairs, as libraries make of the entries of a map.
bool LineValues::is_pairs() const {
  const LineValues& item = children_.front();
  if (item.kind_ == Kind::record) {
    return item.children_.size() == 2 && item.children_[0].opening_ == R"("key":)" &&
           item.children_[1].opening_ == R"("value":)";
  }
  return item.kind_ == Kind::list && item.children_.front().kind_ == Kind::text;
}

void LineValues::write(json::JsonWriter& out, const ArrowArray& array, std::int64_t row) const {
  if (use_ == Use::counted) return out.put("0");
  if (!is_set(array, row)) return out.put("null");
  const std::int64_t index = array.offset + row;
  switch (kind_) {
    case Kind::unset:
      return out.put("null");
    case Kind::boolean:
      return out.write(bit_at(array.buffers[1], index));
    case Kind::integer: {
      DecimalBuffer buffer{};
      const std::string_view text = format_scaled(number_at(array, index), 0, buffer);
      return use_ == Use::amount ? out.write(text) : out.put(text);
    }
    case Kind::decimal:
      return write_decimal(out, array, index);
    case Kind::text:
      return write_text(out, text_at(array, index));
    case Kind::timestamp:
      return write_timestamp(out, value_at<std::int64_t>(array.buffers[1], index));
    case Kind::date: {
      constexpr std::int64_t micros_per_day = 86'400 * micros_per_second;
      const Int128 micros = number_at(array, index) * micros_per_day;
      if (micros < earliest_timestamp.microseconds || micros > latest_timestamp.microseconds) {
        return out.write(too_far);
      }
      return out.write(Timestamp{static_cast<std::int64_t>(micros)});
    }
    case Kind::uuid:
      return write_uuid(out, bytes_of(array, 1, 16 * index, 16));
    case Kind::floating:
      throw Error::invalid(
          path_, use_ == Use::amount
                     ? "is a float, which is not exact; give text or decimals, or "
                       "floats=\"shortest\" for the shortest decimal of each float"
                     : "is a float, and the member is no number; cast the column to text");
    case Kind::dictionary:
      return children_.front().write(out, *array.dictionary, code_at(array, index));
    case Kind::list:
      return write_list(out, array, index);
    case Kind::record:
      return write_record(out, array, index);
    case Kind::map:
      return write_map(out, array, index);
    case Kind::refused:
      throw Error::invalid(path_, refusal_);
  }
}

bool LineValues::is_nan(const ArrowArray& array, std::int64_t index) const {
  const void* const values = array.buffers[1];
  if (float_bytes_ == 8) return std::isnan(value_at<double>(values, index));
  if (float_bytes_ == 4) return std::isnan(value_at<float>(values, index));
  constexpr std::uint16_t infinity = 0x7C00;
  return (value_at<std::uint16_t>(values, index) & 0x7FFFU) > infinity;
}

void LineValues::write_text(json::JsonWriter& out, std::string_view text) const {
  if (use_ == Use::document && (text.starts_with('[') || text.starts_with('{'))) {
    if (const auto document = json::minified(text)) return out.put(*document);
  }
  if (use_ == Use::boolean && (is_word(text, "true") || is_word(text, "false"))) {
    return out.write(text.size() == 4);
  }
  out.write(text);
}

void LineValues::write_decimal(json::JsonWriter& out, const ArrowArray& array,
                               std::int64_t index) const {
  const Int128 value = number_at(array, index);
  if (has_upper_half_ &&
      value_at<Int128>(array.buffers[1], 2 * index + 1) != (value < 0 ? -1 : 0)) {
    return out.write(too_long);
  }
  DecimalBuffer buffer{};
  if (scale_ >= 0) {
    return out.write(Decimal{format_scaled(value, static_cast<std::size_t>(scale_), buffer)});
  }
  std::string digits(format_scaled(value, 0, buffer));
  if (value != 0) digits.append(static_cast<std::size_t>(-scale_), '0');
  out.write(Decimal{digits});
}

void LineValues::write_timestamp(json::JsonWriter& out, std::int64_t ticks) const {
  std::int64_t micros = 0;
  if (ticks_per_second_ > micros_per_second) {
    const std::int64_t ticks_per_micro = ticks_per_second_ / micros_per_second;
    micros = ticks / ticks_per_micro - (ticks % ticks_per_micro < 0 ? 1 : 0);
  } else if (__builtin_mul_overflow(ticks, micros_per_second / ticks_per_second_, &micros)) {
    return out.write(too_far);
  }
  const Timestamp time{micros};
  if (time < earliest_timestamp || time > latest_timestamp) return out.write(too_far);
  out.write(time);
}

std::string_view LineValues::text_at(const ArrowArray& array, std::int64_t index) const {
  if (!is_view_) {
    const auto [begin, end] = range_at(array, index);
    return bytes_of(array, 2, begin, end - begin);
  }
  const void* const values = array.buffers[1];
  // A view has 16 bytes: the length, then the text, or its first bytes, buffer and offset.
  constexpr std::int32_t max_inline_size = 12;
  const auto length = value_at<std::int32_t>(values, 4 * index);
  if (length <= max_inline_size) return bytes_of(array, 1, 16 * index + 4, length);
  const auto buffer = value_at<std::int32_t>(values, 4 * index + 2);
  return bytes_of(array, 2 + buffer, value_at<std::int32_t>(values, 4 * index + 3), length);
}

// Returns the items of a list, or the bytes of a text that is not a view.
LineValues::Range LineValues::range_at(const ArrowArray& array, std::int64_t index) const {
  if (items_per_list_) return {index * *items_per_list_, (index + 1) * *items_per_list_};
  const auto at = [&](int buffer, std::int64_t place) -> std::int64_t {
    if (is_wide_) return value_at<std::int64_t>(array.buffers[buffer], place);
    return value_at<std::int32_t>(array.buffers[buffer], place);
  };
  const std::int64_t begin = at(1, index);
  return {begin, is_view_ ? begin + at(2, index) : at(1, index + 1)};
}

void LineValues::write_list(json::JsonWriter& out, const ArrowArray& array,
                            std::int64_t index) const {
  const auto [begin, end] = range_at(array, index);
  out.put("[");
  for (std::int64_t item = begin; item < end; ++item) {
    if (item > begin) out.put(",");
    children_.front().write(out, *array.children[0], item);
  }
  out.put("]");
}

void LineValues::write_record(json::JsonWriter& out, const ArrowArray& array, std::int64_t index,
                              std::string_view empty) const {
  std::string_view before = "{";
  for (std::size_t i = 0; i < children_.size(); ++i) {
    const ArrowArray& member = *array.children[i];
    if (!children_[i].is_set(member, index)) continue;
    out.put(std::exchange(before, ","));
    out.put(children_[i].opening_);
    children_[i].write(out, member, index);
  }
  out.put(before == "{" ? empty : "}");
}

void LineValues::write_map(json::JsonWriter& out, const ArrowArray& array,
                           std::int64_t index) const {
  const auto [begin, end] = range_at(array, index);
  const LineValues& entry = children_.front();
  const ArrowArray& entries = *array.children[0];
  out.put("{");
  for (std::int64_t item = begin; item < end; ++item) {
    if (item > begin) out.put(",");
    if (entry.kind_ == Kind::record) {
      const std::int64_t place = entries.offset + item;
      entry.children_[0].write(out, *entries.children[0], place);
      out.put(":");
      entry.children_[1].write(out, *entries.children[1], place);
      continue;
    }
    const auto [key, behind] = entry.range_at(entries, entries.offset + item);
    if (behind - key != 2) throw Error::invalid(path_, "must have pairs of a name and a value");
    entry.children_[0].write(out, *entries.children[0], key);
    out.put(":");
    entry.children_[0].write(out, *entries.children[0], key + 1);
  }
  out.put("}");
}

}  // namespace comptroller::arrow
