// Lower-case hexadecimal digits to bytes and back, table driven. Inline: most calls know their
// length, and ids and hashes are written for every row of a page.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace comptroller {

namespace detail {

inline constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

// The value of each digit; 0xff for what is none.
inline constexpr std::array<std::uint8_t, 256> hexadecimal_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(0xff);
  for (std::uint8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>(hexadecimal_digits[i])] = i;
  }
  return values;
}();

// The two digits of each byte.
inline constexpr std::array<char, 512> hexadecimal_pairs = [] {
  std::array<char, 512> pairs{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    pairs[2 * byte] = hexadecimal_digits[byte / 16];
    pairs[2 * byte + 1] = hexadecimal_digits[byte % 16];
  }
  return pairs;
}();

}  // namespace detail

// Reads 2 * `bytes` digits into `out`. False when one is not of 0-9a-f; `out` is then unspecified.
inline bool read_lower_hexadecimal(const char* digits, std::size_t bytes, char* out) {
  unsigned seen = 0;
  for (std::size_t i = 0; i < bytes; ++i) {
    const unsigned high = detail::hexadecimal_values[static_cast<unsigned char>(digits[2 * i])];
    const unsigned low = detail::hexadecimal_values[static_cast<unsigned char>(digits[2 * i + 1])];
    seen |= high | low;
    out[i] = static_cast<char>((high << 4U) | low);
  }
  return seen < 16;
}

// Writes 2 * `count` digits.
inline void write_hexadecimal(const char* bytes, std::size_t count, char* out) {
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t byte = static_cast<unsigned char>(bytes[i]);
    std::memcpy(out + 2 * i, &detail::hexadecimal_pairs[2 * byte], 2);
  }
}

}  // namespace comptroller
