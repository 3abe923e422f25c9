#include "model/text.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace comptroller {

namespace {

constexpr std::size_t block_length = 8;
constexpr std::uint64_t high_bits = 0x8080808080808080;
constexpr std::uint64_t spaces = 0x2020202020202020;

// Whether the first eight bytes are 0x20 to 0x7f. Setting the high bit of each byte before the
// subtraction prevents borrows between bytes; the bit remains set exactly if the byte is at least
// 0x20.
bool begins_with_plain_block(std::string_view bytes) {
  if (bytes.size() < block_length) return false;
  std::uint64_t block = 0;
  std::memcpy(&block, bytes.data(), block_length);
  return (block & high_bits) == 0 && (((block | high_bits) - spaces) & high_bits) == high_bits;
}

// The length of the well-formed character at the start of `bytes` (Unicode, table 3-7), or 0 if it
// is malformed. `bytes` is not empty.
std::size_t character_length(std::string_view bytes) {
  const auto at = [bytes](std::size_t i) { return static_cast<unsigned char>(bytes[i]); };
  const auto continues = [&](std::size_t i, unsigned low, unsigned high) {
    return i < bytes.size() && at(i) >= low && at(i) <= high;
  };
  const unsigned lead = at(0);
  if (lead < 0x80) return lead < 0x20 ? 0 : 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  if (lead < 0xe0) return continues(1, 0x80, 0xbf) ? 2 : 0;
  // The second byte excludes overlong forms, surrogates and code points beyond U+10FFFF.
  const unsigned low = lead == 0xe0 ? 0xa0 : lead == 0xf0 ? 0x90 : 0x80;
  const unsigned high = lead == 0xed ? 0x9f : lead == 0xf4 ? 0x8f : 0xbf;
  if (!continues(1, low, high) || !continues(2, 0x80, 0xbf)) return 0;
  if (lead < 0xf0) return 3;
  return continues(3, 0x80, 0xbf) ? 4 : 0;
}

bool is_capital(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_word_character(char c) {
  return is_capital(c) || (c >= '0' && c <= '9') || c == '_';
}

}  // namespace

std::optional<std::size_t> count_characters(std::string_view bytes) {
  std::size_t count = 0;
  while (!bytes.empty()) {
    if (begins_with_plain_block(bytes)) {
      count += block_length;
      bytes.remove_prefix(block_length);
      continue;
    }
    const std::size_t length = character_length(bytes);
    if (length == 0) return std::nullopt;
    ++count;
    bytes.remove_prefix(length);
  }
  return count;
}

bool is_text(std::string_view bytes, std::size_t minimum, std::size_t maximum) {
  // A code point has at most four bytes, so a huge string is rejected without reading it.
  if (bytes.size() < minimum || bytes.size() > 4 * maximum) return false;
  const std::optional<std::size_t> count = count_characters(bytes);
  return count.has_value() && *count >= minimum && *count <= maximum;
}

std::string text_expectation(std::size_t minimum, std::size_t maximum) {
  return std::to_string(minimum) + " to " + std::to_string(maximum) +
         " characters without control characters";
}

bool Word::assign(std::string_view text) {
  if (text.empty() || text.size() > maximum_length || !is_capital(text.front()) ||
      !std::ranges::all_of(text, is_word_character)) {
    return false;
  }
  value = text;
  return true;
}

std::string Word::expectation() {
  return "a word of 1 to " + std::to_string(maximum_length) +
         " characters A-Z, 0-9 and _ that begins with a letter, such as COMPLETED";
}

}  // namespace comptroller
