#include "model/base58.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace comptroller {

namespace {

constexpr std::string_view alphabet = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
constexpr unsigned base = 58;
constexpr unsigned byte_values = 256;
constexpr std::uint8_t not_a_digit = 0xff;

constexpr std::array<std::uint8_t, 256> digit_values = [] {
  std::array<std::uint8_t, 256> values{};
  values.fill(not_a_digit);
  for (std::uint8_t i = 0; i < base; ++i) values[static_cast<unsigned char>(alphabet[i])] = i;
  return values;
}();

// For a number of any size, least significant byte first: number = number * base + addend.
void multiply_add(std::vector<unsigned char>& number, unsigned addend) {
  unsigned carry = addend;
  for (unsigned char& digit : number) {
    carry += base * digit;
    digit = static_cast<unsigned char>(carry % byte_values);
    carry /= byte_values;
  }
  for (; carry > 0; carry /= byte_values)
    number.push_back(static_cast<unsigned char>(carry % byte_values));
}

}  // namespace

std::optional<std::vector<unsigned char>> decode_base58(std::string_view text) {
  const std::size_t zeros = std::min(text.find_first_not_of('1'), text.size());
  std::vector<unsigned char> bytes;
  for (const char c : text.substr(zeros)) {
    const std::uint8_t value = digit_values[static_cast<unsigned char>(c)];
    if (value == not_a_digit) return std::nullopt;
    multiply_add(bytes, value);
  }
  bytes.insert(bytes.end(), zeros, 0);
  std::ranges::reverse(bytes);
  return bytes;
}

}  // namespace comptroller
