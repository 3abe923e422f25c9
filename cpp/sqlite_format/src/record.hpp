// Records of rows and index entries (fileformat2.html, 2.1), and keys that sort like index entries.
#pragma once

#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sqlite_format/sqlite_format.hpp"
#include "sqlite_format/src/bytes.hpp"

namespace sqlite_format {

inline constexpr std::uint64_t max_record_size = 1'000'000'000;  // SQLite's own limit

inline constexpr std::array<std::uint8_t, 128> sizes_of_one_byte_types = [] {
  std::array<std::uint8_t, 128> sizes{0, 1, 2, 3, 4, 6, 8, 8};
  for (std::size_t type = 12; type < sizes.size(); ++type) {
    sizes[type] = static_cast<std::uint8_t>((type - 12) / 2);
  }
  return sizes;
}();

// Returns the size of a value; one that is too large for any record is max_record_size.
inline std::size_t size_of_serial_type(std::uint64_t type) {
  if (type < sizes_of_one_byte_types.size()) return sizes_of_one_byte_types[type];
  return type / 2 > max_record_size ? max_record_size : static_cast<std::size_t>((type - 12) / 2);
}

// Decodes a big-endian integer that ends at `end`; `size` is 1 to 8. The record has a header, so
// that the bytes before the integer can usually be read, too.
inline std::int64_t read_integer(std::string_view record, std::size_t end, std::size_t size) {
  const std::size_t unused_bits = 8 * (sizeof(std::uint64_t) - size);
  std::uint64_t bits = 0;
  if (end >= sizeof bits) {
    bits = read_number<std::uint64_t>(record.data() + end - sizeof bits);
  } else {
    for (const char byte : record.substr(end - size, size)) {
      bits = bits << 8U | static_cast<unsigned char>(byte);
    }
  }
  return static_cast<std::int64_t>(bits << unused_bits) >> unused_bits;
}

// Decodes a value, whose bytes are in the record.
inline Value value_of(std::string_view record, std::uint64_t type, std::size_t offset,
                      std::size_t size) {
  constexpr std::uint64_t shortest_integer = 1;
  constexpr std::uint64_t longest_integer = 6;
  constexpr std::uint64_t real = 7;
  constexpr std::uint64_t zero = 8;
  constexpr std::uint64_t one = 9;
  constexpr std::uint64_t empty_blob = 12;
  if (type >= shortest_integer && type <= longest_integer) {
    return Value::of(read_integer(record, offset + size, size));
  }
  if (type >= empty_blob) {
    const std::string_view bytes(record.data() + offset, size);
    return type % 2 == 0 ? Value::blob(bytes) : Value::of(bytes);
  }
  if (type == zero || type == one) return Value::of(static_cast<std::int64_t>(type - zero));
  if (type != real) return {};
  // SQLite reads a NaN as NULL.
  const auto number = std::bit_cast<double>(read_integer(record, offset + size, size));
  return std::isnan(number) ? Value{} : Value{Value::Type::real, 0, {}};
}

// Appends the record of a row or an index entry. Real numbers are not supported.
void append_record(std::string& out, std::span<const Value> values);

// Writes bytes that compare (memcmp, then length) like the value in an ascending index with
// collation BINARY: NULL, integers, texts, blobs. The key of several values is the concatenation of
// their keys. Returns the end of the bytes, which are at most max_key_size(value).
char* put_key(char* out, const Value& value);
inline std::size_t max_key_size(const Value& value) {
  return 1 + sizeof value.integer + 2 * value.bytes.size();
}

// Reads the values of a key. They are valid until the next call, while the key exists.
class KeyReader {
 public:
  std::span<const Value> read(std::string_view key);

 private:
  std::string_view read_bytes(const char*& at, const char* end);

  std::vector<Value> values_;
  std::string unescaped_;  // the bytes of values that contain a zero
};

}  // namespace sqlite_format
