#include "db/postgresql/values.hpp"

#include <algorithm>
#include <limits>
#include <type_traits>
#include <utility>

#include "model/error.hpp"

namespace comptroller::db::postgresql {

namespace {

constexpr unsigned bits_per_byte = 8;

// Throws internal for a number that does not fit in the type. The largest number, by which reads
// seek a key that no row has, becomes the largest number of the type.
template <class Number>
void append_number(std::int64_t number, std::string& out) {
  if (number == std::numeric_limits<std::int64_t>::max()) {
    number = std::numeric_limits<Number>::max();
  }
  if (!std::in_range<Number>(number)) {
    throw Error(Code::internal, std::to_string(number) + " does not fit in a column");
  }
  const auto value = static_cast<std::uint64_t>(number);
  for (unsigned byte = sizeof(Number); byte-- > 0;) {
    out += static_cast<char>(value >> (byte * bits_per_byte));
  }
}

// The bytes begin with the highest one. Throws unusable for another number of bytes.
template <class Number>
Value read_number(std::string_view bytes) {
  if (bytes.size() != sizeof(Number)) throw Error::damaged("a number has a wrong length");
  std::make_unsigned_t<Number> number = 0;
  for (const char byte : bytes) {
    number = static_cast<decltype(number)>(std::uint64_t{number} << bits_per_byte |
                                           static_cast<unsigned char>(byte));
  }
  return Value::of(std::int64_t{static_cast<Number>(number)});
}

[[noreturn]] void throw_unexpected(unsigned type) {
  throw Error(Code::internal, "a statement has a value that type " + std::to_string(type) +
                                  " of PostgreSQL cannot have");
}

unsigned element_type(unsigned array) {
  switch (array) {
    case bytes_array_type:
      return bytes_type;
    case int4_array_type:
      return int4_type;
    case int8_array_type:
      return int8_type;
    case text_array_type:
      return text_type;
    default:
      throw_unexpected(array);
  }
}

}  // namespace

void encode(const Value& value, unsigned type, std::string& out) {
  const bool is_number = value.kind == Value::Kind::integer;
  const bool is_bytes = value.kind == Value::Kind::blob || value.kind == Value::Kind::text;
  switch (type) {
    case boolean_type:
      if (!is_number) throw_unexpected(type);
      out += static_cast<char>(value.integer != 0);
      return;
    case int2_type:
      if (!is_number) throw_unexpected(type);
      return append_number<std::int16_t>(value.integer, out);
    case int4_type:
      if (!is_number) throw_unexpected(type);
      return append_number<std::int32_t>(value.integer, out);
    case int8_type:
      if (!is_number) throw_unexpected(type);
      return append_number<std::int64_t>(value.integer, out);
    case bytes_type:
      if (!is_bytes) throw_unexpected(type);
      out += value.kind == Value::Kind::blob ? blob_mark : text_mark;
      out += value.bytes;
      return;
    case text_type:
    case varchar_type:
      if (value.kind != Value::Kind::text) throw_unexpected(type);
      out += value.bytes;
      return;
    default:
      throw_unexpected(type);
  }
}

void append_int2(std::int64_t number, std::string& out) {
  append_number<std::int16_t>(number, out);
}

void append_int4(std::int64_t number, std::string& out) {
  append_number<std::int32_t>(number, out);
}

void append_int8(std::int64_t number, std::string& out) {
  append_number<std::int64_t>(number, out);
}

void encode_with_length(const Value& value, unsigned type, std::string& out) {
  if (value.is_null()) return append_int4(-1, out);
  const std::size_t begin = out.size();
  append_int4(0, out);
  encode(value, type, out);
  std::string length;
  append_int4(static_cast<std::int64_t>(out.size() - begin - length_size), length);
  std::ranges::copy(length, out.begin() + static_cast<std::ptrdiff_t>(begin));
}

void encode_array(std::span<const Value> values, unsigned type, std::string& out) {
  const unsigned element = element_type(type);
  append_int4(values.empty() ? 0 : 1, out);  // dimensions
  append_int4(0, out);                       // no NULL
  append_int4(element, out);
  if (values.empty()) return;
  append_int4(static_cast<std::int64_t>(values.size()), out);
  append_int4(1, out);  // the first index
  for (const Value& value : values) encode_with_length(value, element, out);
}

Value decode(std::string_view bytes, unsigned type) {
  switch (type) {
    case boolean_type:
      return read_number<std::int8_t>(bytes);
    case int2_type:
      return read_number<std::int16_t>(bytes);
    case int4_type:
      return read_number<std::int32_t>(bytes);
    case int8_type:
      return read_number<std::int64_t>(bytes);
    case text_type:
    case varchar_type:
    case name_type:
    case unknown_type:
      return Value::of(bytes);
    case bytes_type:
      if (bytes.empty() || (bytes.front() != blob_mark && bytes.front() != text_mark)) {
        throw Error::damaged("a value of type bytea has no mark of its kind");
      }
      return bytes.front() == blob_mark ? Value::blob(bytes.substr(1)) : Value::of(bytes.substr(1));
    default:
      throw_unexpected(type);
  }
}

}  // namespace comptroller::db::postgresql
