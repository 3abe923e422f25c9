#include "model/base58.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <ranges>

namespace comptroller {

namespace {

constexpr std::string_view alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr unsigned base = 58;
constexpr std::uint8_t not_a_digit = 0xff;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(not_a_digit);
  for (std::uint8_t i = 0; i < base; ++i) values[static_cast<unsigned char>(alphabet[i])] = i;
  return values;
}();

// For a number of any size in base Radix, least significant digit first:
// number = number * Factor + addend.
template <unsigned Radix, unsigned Factor>
void multiply_add(std::vector<unsigned char>& number, unsigned addend) {
  unsigned carry = addend;
  for (unsigned char& digit : number) {
    carry += Factor * digit;
    digit = static_cast<unsigned char>(carry % Radix);
    carry /= Radix;
  }
  for (; carry > 0; carry /= Radix) number.push_back(static_cast<unsigned char>(carry % Radix));
}

}  // namespace

std::optional<std::vector<unsigned char>> decode_base58(std::string_view text) {
  const std::size_t zeros = std::min(text.find_first_not_of('1'), text.size());
  std::vector<unsigned char> bytes;
  for (const char c : text.substr(zeros)) {
    const std::uint8_t value = digit_values[static_cast<unsigned char>(c)];
    if (value == not_a_digit) return std::nullopt;
    multiply_add<256, base>(bytes, value);
  }
  bytes.insert(bytes.end(), zeros, 0);
  std::ranges::reverse(bytes);
  return bytes;
}

std::string encode_base58(std::span<const unsigned char> bytes) {
  const auto first = std::ranges::find_if(bytes, [](unsigned char byte) { return byte != 0; });
  std::vector<unsigned char> digits;
  for (auto byte = first; byte != bytes.end(); ++byte) multiply_add<base, 256>(digits, *byte);
  std::string text(static_cast<std::size_t>(first - bytes.begin()), '1');
  for (const unsigned char digit : std::views::reverse(digits)) text += alphabet[digit];
  return text;
}

}  // namespace comptroller
