#include "model/base58.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "model/hexadecimal.hpp"

namespace comptroller {
namespace {

using Bytes = std::vector<unsigned char>;

Bytes bytes_of(std::string_view digits) {
  std::string bytes(digits.size() / 2, '\0');
  REQUIRE(read_lower_hexadecimal(digits.data(), bytes.size(), bytes.data()));
  return {bytes.begin(), bytes.end()};
}

// The reverse, by long division.
std::string encode_base58(Bytes number) {
  constexpr std::string_view alphabet =
      "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  const auto is_zero = [](unsigned char byte) { return byte == 0; };
  const auto first = std::ranges::find_if_not(number, is_zero);
  const auto zeros = static_cast<std::size_t>(first - number.begin());
  std::string text;
  while (!std::ranges::all_of(number, is_zero)) {
    unsigned remainder = 0;
    for (unsigned char& byte : number) {
      const unsigned dividend = 256 * remainder + byte;
      byte = static_cast<unsigned char>(dividend / 58);
      remainder = dividend % 58;
    }
    text += alphabet[remainder];
  }
  text.append(zeros, '1');
  std::ranges::reverse(text);
  return text;
}

struct Vector {
  std::string_view hexadecimal;
  std::string_view text;
};

TEST_CASE("base58 gives its published encodings, both ways") {
  const Vector vectors[] = {
      // Those of Bitcoin.
      {"", ""},
      {"61", "2g"},
      {"626262", "a3gV"},
      {"636363", "aPEr"},
      {"73696d706c792061206c6f6e6720737472696e67", "2cFupjhnEsSn59qHXstmK2ffpLv2"},
      {"00eb15231dfceb60925886b67d065299925915aeb172c06647", "1NS17iag9jJgTHD1VXjvLCEnZuQ3rJDE9L"},
      {"516b6fcd0f", "ABnLTmg"},
      {"bf4f89001e670274dd", "3SEo3LWLoPntC"},
      {"572e4794", "3EFU7m"},
      {"ecac89cad93923c02321", "EJDM8drfXA6uyA"},
      {"10c8511e", "Rt5zm"},
      {"00000000000000000000", "1111111111"},
      // Those of draft-msporny-base58.
      {"48656c6c6f20576f726c6421", "2NEpo7TZRRrLZSi2U"},
      {"0000287fb4cd", "11233QC4"},
      // One digit, and where the second begins.
      {"00", "1"},
      {"01", "2"},
      {"39", "z"},
      {"3a", "21"},
  };
  for (const Vector& vector : vectors) {
    CAPTURE(vector.text);
    CHECK(decode_base58(vector.text) == bytes_of(vector.hexadecimal));
  }
}

TEST_CASE("a character outside the alphabet is refused, wherever it stands") {
  for (const std::string_view text : {"0", "O", "I", "l", "2g ", " 2g", "1 1", "11!", "a3gV+",
                                      "a\xc3\xa9", "a-b", "a_b", "\xff"}) {
    CAPTURE(text);
    CHECK_FALSE(decode_base58(text).has_value());
  }
  CHECK_FALSE(decode_base58(std::string_view("a\0b", 3)).has_value());
}

TEST_CASE("random bytes come back from base58, leading zeros too") {
  std::mt19937 random(58);
  for (int round = 0; round < 2'000; ++round) {
    Bytes bytes(random() % 70);
    for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(random() & 0xff);
    const std::size_t zeros = std::min<std::size_t>(random() % 5, bytes.size());
    std::fill_n(bytes.begin(), zeros, static_cast<unsigned char>(0));
    CHECK(decode_base58(encode_base58(bytes)) == bytes);
  }
}

}  // namespace
}  // namespace comptroller
