// Converts lower-case hexadecimal digits to bytes and back. Inline because most calls have a
// constant length and pages write ids and hashes for every row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace comptroller {

namespace detail {

inline constexpr std::string_view hexadecimal_digits = "0123456789abcdef";

// The value of each digit; 0xff for other characters.
inline constexpr std::array<std::uint8_t, 256> hexadecimal_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(0xff);
  for (std::uint8_t i = 0; i < 16; ++i) {
    values[static_cast<unsigned char>(hexadecimal_digits[i])] = i;
  }
  return values;
}();

using Block [[gnu::vector_size(16)]] = unsigned char;

// Reads 32 digits into 16 bytes at once; returns false if a character is not 0-9a-f.
inline bool read_block(const char* digits, char* out) {
  Block first;
  Block second;
  std::memcpy(&first, digits, sizeof first);
  std::memcpy(&second, digits + sizeof first, sizeof second);
  const Block high = __builtin_shufflevector(first, second, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20,
                                             22, 24, 26, 28, 30);
  const Block low = __builtin_shufflevector(first, second, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21,
                                            23, 25, 27, 29, 31);
  Block others{};
  const auto values_of = [&](Block characters) {
    const Block number = characters - '0';
    const Block letter = characters - 'a';
    const auto is_number = static_cast<Block>(number < 10);
    const auto is_letter = static_cast<Block>(letter < 6);
    others |= ~(is_number | is_letter);
    return (number & is_number) | ((letter + 10) & is_letter);
  };
  const Block bytes = values_of(high) << 4 | values_of(low);
  std::memcpy(out, &bytes, sizeof bytes);
  std::array<std::uint64_t, 2> seen{};
  std::memcpy(seen.data(), &others, sizeof others);
  return (seen[0] | seen[1]) == 0;
}

// Writes the 32 digits of 16 bytes at once.
inline void write_block(const char* bytes, char* out) {
  Block block;
  std::memcpy(&block, bytes, sizeof block);
  const auto digits_of = [](Block nibbles) {
    const auto is_letter = static_cast<Block>(nibbles > 9);
    return nibbles + '0' + (is_letter & ('a' - '0' - 10));
  };
  const Block high = digits_of(block >> 4);
  const Block low = digits_of(block & 0x0f);
  const Block first =
      __builtin_shufflevector(high, low, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const Block second = __builtin_shufflevector(high, low, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13,
                                               29, 14, 30, 15, 31);
  std::memcpy(out, &first, sizeof first);
  std::memcpy(out + sizeof first, &second, sizeof second);
}

}  // namespace detail

// Reads 2 * `bytes` digits into `out`. Returns false if a character is not 0-9a-f; `out` is then
// unspecified.
inline bool read_lower_hexadecimal(const char* digits, std::size_t bytes, char* out) {
  constexpr std::size_t block = sizeof(detail::Block);
  if (bytes >= block) {
    for (std::size_t i = 0; i + block < bytes; i += block) {
      if (!detail::read_block(digits + 2 * i, out + i)) return false;
    }
    // The last block may overlap the one before it.
    return detail::read_block(digits + 2 * (bytes - block), out + bytes - block);
  }
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
  for (; count >= 16; count -= 16, bytes += 16, out += 32) detail::write_block(bytes, out);
  for (std::size_t i = 0; i < count; ++i) {
    const unsigned byte = static_cast<unsigned char>(bytes[i]);
    out[2 * i] = detail::hexadecimal_digits[byte / 16];
    out[2 * i + 1] = detail::hexadecimal_digits[byte % 16];
  }
}

// Reads a text of "0x" and 2 * `bytes` digits; returns false for any other text.
inline bool read_prefixed_hexadecimal(std::string_view text, std::size_t bytes, char* out) {
  return text.size() == 2 + 2 * bytes && text.starts_with("0x") &&
         read_lower_hexadecimal(text.data() + 2, bytes, out);
}

// The text of a hash or address from its bytes: "0x" and two digits a byte.
struct PackedHexadecimal {
  std::string_view bytes;

  std::size_t size() const { return 2 + 2 * bytes.size(); }
  void write(char* out) const {
    out[0] = '0';
    out[1] = 'x';
    write_hexadecimal(bytes.data(), bytes.size(), out + 2);
  }
};

}  // namespace comptroller
