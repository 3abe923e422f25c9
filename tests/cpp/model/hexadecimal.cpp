#include "model/hexadecimal.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

namespace comptroller {
namespace {

TEST_CASE("every byte is written as two lower-case digits and read from them") {
  constexpr std::string_view digits = "0123456789abcdef";
  for (std::size_t byte = 0; byte < 256; ++byte) {
    const std::string in(16, static_cast<char>(byte));
    std::string text(32, '\0');
    write_hexadecimal(in.data(), in.size(), text.data());
    for (std::size_t i = 0; i < text.size(); i += 2) {
      REQUIRE(text.substr(i, 2) == std::string{digits[byte / 16], digits[byte % 16]});
    }
    std::string out(16, '\0');
    REQUIRE(read_lower_hexadecimal(text.data(), out.size(), out.data()));
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
  for (std::size_t count = 16; count <= bytes.size(); ++count) {
    std::string text(2 * count, '\0');
    write_hexadecimal(bytes.data(), count, text.data());
    CHECK(text == expected.substr(0, 2 * count));
    std::string read(count, '\0');
    CHECK(read_lower_hexadecimal(text.data(), count, read.data()));
    CHECK(read == bytes.substr(0, count));
  }
}

TEST_CASE("another character is refused at every position") {
  for (const std::size_t count : {16, 17, 20, 31, 32, 33}) {
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
    std::string out(16, '\0');
    std::string first(32, '0');
    std::string second(32, 'f');
    for (std::size_t i = 0; i < 32; i += 2) first[i] = second[i + 1] = c;
    CHECK(read_lower_hexadecimal(first.data(), out.size(), out.data()) == expected);
    CHECK(read_lower_hexadecimal(second.data(), out.size(), out.data()) == expected);
  }
}

}  // namespace
}  // namespace comptroller
