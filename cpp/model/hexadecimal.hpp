// Converts lower-case hexadecimal digits to bytes and back, 16 bytes at once. Inline because most
// calls have a constant length and pages write ids and hashes for every row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace comptroller {

namespace detail {

inline constexpr std::size_t block_size = 16;
using Block [[gnu::vector_size(block_size)]] = unsigned char;

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

// The last block may overlap the block before it, so that no byte needs a loop of its own.

// Reads 2 * `bytes` digits into `out`; `bytes` is at least 16. Returns false if a character is not
// 0-9a-f; `out` is then unspecified.
inline bool read_lower_hexadecimal(const char* digits, std::size_t bytes, char* out) {
  for (std::size_t i = 0; i + detail::block_size < bytes; i += detail::block_size) {
    if (!detail::read_block(digits + 2 * i, out + i)) return false;
  }
  const std::size_t last = bytes - detail::block_size;
  return detail::read_block(digits + 2 * last, out + last);
}

// Writes 2 * `bytes` digits of `in`; `bytes` is at least 16.
inline void write_hexadecimal(const char* in, std::size_t bytes, char* out) {
  for (std::size_t i = 0; i + detail::block_size < bytes; i += detail::block_size) {
    detail::write_block(in + i, out + 2 * i);
  }
  const std::size_t last = bytes - detail::block_size;
  detail::write_block(in + last, out + 2 * last);
}

// Reads a text of "0x" and 2 * `bytes` digits; returns false for any other text.
inline bool read_prefixed_hexadecimal(std::string_view text, std::size_t bytes, char* out) {
  return text.size() == 2 + 2 * bytes && text.starts_with("0x") &&
         read_lower_hexadecimal(text.data() + 2, bytes, out);
}

// The text of at least 16 bytes: two digits a byte.
struct HexadecimalDigits {
  std::string_view bytes;

  std::size_t size() const { return 2 * bytes.size(); }
  void write(char* out) const { write_hexadecimal(bytes.data(), bytes.size(), out); }
};

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
