#include "model/hexadecimal.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace comptroller {
namespace {

TEST_CASE("every byte is written as two lower-case digits and read from them") {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const char in = static_cast<char>(byte);
    std::string text(2, '\0');
    write_hexadecimal(&in, 1, text.data());
    CHECK(text == std::string{digits[byte / 16], digits[byte % 16]});
    char out = 0;
    REQUIRE(read_lower_hexadecimal(text.data(), 1, &out));
    CHECK(out == in);
  }
}

TEST_CASE("the digits of many bytes are the digits of each") {
  std::string bytes;
  std::string expected;
  for (int byte = 0; byte < 256; ++byte) {
    bytes += static_cast<char>(byte * 7);
    expected += "0123456789abcdef"[byte * 7 % 256 / 16];
    expected += "0123456789abcdef"[byte * 7 % 16];
  }
  for (std::size_t count = 0; count <= bytes.size(); ++count) {
    std::string text(2 * count, '\0');
    write_hexadecimal(bytes.data(), count, text.data());
    CHECK(text == expected.substr(0, 2 * count));
    std::string read(count, '\0');
    CHECK(read_lower_hexadecimal(text.data(), count, read.data()));
    CHECK(read == bytes.substr(0, count));
  }
}

TEST_CASE("another character is refused at every position") {
  for (const std::size_t count : {15, 16, 20, 32, 33}) {
    CAPTURE(count);
    std::string text(2 * count, 'b');
    std::string out(count, '\0');
    for (char& digit : text) {
      for (const char other : {'/', ':', '`', 'g', 'A', 'F', '\0', '\x80', '\xFF'}) {
        digit = other;
        CHECK_FALSE(read_lower_hexadecimal(text.data(), count, out.data()));
      }
      digit = 'b';
    }
    CHECK(read_lower_hexadecimal(text.data(), count, out.data()));
  }
}

TEST_CASE("other characters are refused as first and second digit") {
  constexpr std::string_view digits = "0123456789abcdef";
  for (int byte = 0; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    const bool expected = digits.find(c) != std::string_view::npos;
    char out = 0;
    const char first[] = {c, '0'};
    const char second[] = {'f', c};
    CHECK(read_lower_hexadecimal(first, 1, &out) == expected);
    CHECK(read_lower_hexadecimal(second, 1, &out) == expected);
  }
}

}  // namespace
}  // namespace comptroller
