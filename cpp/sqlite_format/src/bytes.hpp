// Numbers in SQLite's file format: big-endian integers and varints.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>

namespace sqlite_format {

// Throws the Failure of a damaged page.
[[noreturn]] void throw_corrupt();

// Converts an unsigned number to and from the big-endian order of its bytes in memory.
template <class Number>
Number big_endian(Number number) {
  if constexpr (std::endian::native == std::endian::big) {
    return number;
  } else if constexpr (sizeof number == 2) {
    return __builtin_bswap16(number);
  } else if constexpr (sizeof number == 4) {
    return __builtin_bswap32(number);
  } else {
    static_assert(sizeof number == 8);
    return __builtin_bswap64(number);
  }
}

// Reads an unsigned big-endian number. The caller has checked that the bytes exist.
template <class Number>
Number read_number(const char* at) {
  Number number = 0;
  std::memcpy(&number, at, sizeof number);
  return big_endian(number);
}

// Writes the last `size` bytes of a number in big-endian order.
inline void write_number(char* out, std::uint64_t number, std::size_t size) {
  for (std::size_t i = size; i-- > 0; number >>= 8U) out[i] = static_cast<char>(number);
}
inline std::string four_bytes(std::uint32_t number) {
  std::string bytes(sizeof number, '\0');
  write_number(bytes.data(), number, bytes.size());
  return bytes;
}

// Reads a varint before `end` and advances past it. Throws if it has no end.
std::uint64_t read_long_varint(const char*& at, const char* end);
inline std::uint64_t read_varint(const char*& at, const char* end) {
  // Most have one byte.
  if (at < end && static_cast<unsigned char>(*at) < 0x80) return static_cast<unsigned char>(*at++);
  return read_long_varint(at, end);
}

// A varint has up to 9 bytes, but the sizes, serial types and keys that are written here are less
// than 2^56.
inline constexpr std::size_t max_written_varint = 8;

inline std::size_t varint_length(std::uint64_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1U)) + 6) / 7;
}
// Writes a varint less than 2^56; returns the end of its bytes.
char* put_varint(char* out, std::uint64_t value);
void append_varint(std::string& out, std::uint64_t value);

}  // namespace sqlite_format
