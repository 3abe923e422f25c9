#include "model/text.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

#include "model/scalar.hpp"
#include "model/wording.hpp"

namespace comptroller {
namespace {

std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

struct CountCase {
  std::string bytes;
  std::optional<std::size_t> characters;
};

TEST_CASE("characters are counted in well-formed UTF-8 without control characters") {
  const CountCase cases[] = {
      {"", 0},
      {"a", 1},
      {"12345678", 8},
      {"123456789", 9},
      {" ~\x7f", 3},
      {"\xc2\x80", 1},                  // U+0080, the first of two bytes
      {"\xdf\xbf", 1},                  // U+07FF
      {"\xe0\xa0\x80", 1},              // U+0800
      {"\xed\x9f\xbf", 1},              // U+D7FF, before the surrogates
      {"\xee\x80\x80", 1},              // U+E000, after them
      {"\xef\xbf\xbf", 1},              // U+FFFF
      {"\xf0\x90\x80\x80", 1},          // U+10000
      {"\xf4\x8f\xbf\xbf", 1},          // U+10FFFF
      {"e\xcc\x81", 2},                 // no normalisation
      {"1234567\xc3\xa9 1234567", 16},  // across blocks of eight
      {repeated("\xf0\x9f\x98\x80", 9), 9},
      {std::string(1, '\0'), std::nullopt},
      {"1234567\x1f", std::nullopt},
      {"12345678\x01", std::nullopt},
      {"\n", std::nullopt},
      {"tab\tin a long enough text", std::nullopt},
      {"\x80", std::nullopt},      // a continuation without a lead byte
      {"\xc0\xaf", std::nullopt},  // overlong
      {"\xc1\xbf", std::nullopt},
      {"\xe0\x9f\xbf", std::nullopt},
      {"\xf0\x8f\xbf\xbf", std::nullopt},
      {"\xed\xa0\x80", std::nullopt},  // surrogates
      {"\xed\xbf\xbf", std::nullopt},
      {"\xf4\x90\x80\x80", std::nullopt},  // beyond U+10FFFF
      {"\xf5\x80\x80\x80", std::nullopt},
      {"\xff", std::nullopt},
      {"\xc3", std::nullopt},  // cut short
      {"\xe2\x82", std::nullopt},
      {"\xf0\x9f\x98", std::nullopt},
      {"\xf0", std::nullopt},
      {"\xc3(", std::nullopt},  // a lead byte without its continuation
      {"\xe2(\xac", std::nullopt},
      {"\xe2\x82(", std::nullopt},
      {"\xf0\x9f(\x80", std::nullopt},
      {"\xf0\x9f\x98(", std::nullopt},
  };
  for (const CountCase& expected : cases) {
    CAPTURE(expected.bytes);
    CHECK(count_characters(expected.bytes) == expected.characters);
  }
}

TEST_CASE("a control character is found at every position") {
  for (std::size_t length = 1; length <= 24; ++length) {
    for (std::size_t position = 0; position < length; ++position) {
      for (int byte = 0; byte < 128; ++byte) {
        std::string text(length, ' ');
        text[position] = static_cast<char>(byte);
        CHECK(count_characters(text).has_value() == (byte >= 0x20));
      }
    }
  }
}

TEST_CASE("random code points are counted, and a damaged byte is detected") {
  std::mt19937 random(20260131);
  std::uniform_int_distribution<std::uint32_t> code_points(0x20, 0x10ffff);
  for (int round = 0; round < 2'000; ++round) {
    std::string text;
    std::size_t count = 0;
    while (count < 20) {
      const std::uint32_t c =
          round % 2 == 0 ? 0x20 + code_points(random) % 0x7e0 : code_points(random);
      if (c >= 0xd800 && c <= 0xdfff) continue;
      const auto put = [&text](std::uint32_t byte) { text += static_cast<char>(byte); };
      if (c < 0x80) {
        put(c);
      } else if (c < 0x800) {
        put(0xc0 | (c >> 6));
        put(0x80 | (c & 0x3f));
      } else if (c < 0x10000) {
        put(0xe0 | (c >> 12));
        put(0x80 | ((c >> 6) & 0x3f));
        put(0x80 | (c & 0x3f));
      } else {
        put(0xf0 | (c >> 18));
        put(0x80 | ((c >> 12) & 0x3f));
        put(0x80 | ((c >> 6) & 0x3f));
        put(0x80 | (c & 0x3f));
      }
      ++count;
    }
    CHECK(count_characters(text) == count);
    text[random() % text.size()] = static_cast<char>(0xff);
    CHECK_FALSE(count_characters(text).has_value());
  }
}

TEST_CASE("length limits count code points, not bytes") {
  CHECK_FALSE(FieldType<Label>::parse("").has_value());
  CHECK(FieldType<Note>::parse("")->value.empty());
  CHECK(FieldType<Label>::parse(repeated("x", 128)).has_value());
  CHECK_FALSE(FieldType<Label>::parse(repeated("x", 129)).has_value());
  CHECK(FieldType<Label>::parse(repeated("\xf0\x9f\x98\x80", 128)).has_value());
  CHECK_FALSE(FieldType<Label>::parse(repeated("\xf0\x9f\x98\x80", 128) + "x").has_value());
  CHECK(FieldType<Name>::parse(repeated("\xc3\xa9", 256)).has_value());
  CHECK_FALSE(FieldType<Name>::parse(repeated("\xc3\xa9", 257)).has_value());
  CHECK(FieldType<Note>::parse(repeated("\xe2\x82\xac", 1024)).has_value());
  CHECK_FALSE(FieldType<Note>::parse(repeated("\xe2\x82\xac", 1025)).has_value());
}

TEST_CASE("text is kept byte for byte") {
  const std::string text = "  \xc3\xa9 e\xcc\x81 \x7f ";
  CHECK(FieldType<Label>::parse(text)->value == text);
  CHECK(FieldType<Term>::parse(text)->value == text);
  CHECK_FALSE(FieldType<Label>::parse("a\nb").has_value());
  CHECK_FALSE(FieldType<Term>::parse("").has_value());
  CHECK_FALSE(FieldType<Term>::parse(repeated("x", 129)).has_value());
}

TEST_CASE("texts order and compare by their bytes") {
  CHECK(Label{"a"} == Label{"a"});
  CHECK(Label{"a"} < Label{"b"});
  CHECK(Term{"BTC"} != Term{"ETH"});
  CHECK(Word{"A"} < Word{"B"});
  CHECK(TransactionHash{"0x1"} == TransactionHash{"0x1"});
}

TEST_CASE("a word begins with a capital, followed by capitals, digits and underscores") {
  for (const std::string& word :
       {std::string("A"), std::string("CLAIM_ALL"), std::string("Z9_"), repeated("A", 64)}) {
    CAPTURE(word);
    REQUIRE(FieldType<Word>::parse(word).has_value());
    CHECK(FieldType<Word>::parse(word)->value == word);
  }
  for (const std::string& other :
       {std::string(), std::string("a"), std::string("1A"), std::string("_A"), std::string("Ab"),
        std::string("A-B"), std::string("A B"), std::string("A\xc3\x89"), std::string("[A"),
        std::string("A:"), repeated("A", 65)}) {
    CAPTURE(other);
    CHECK_FALSE(FieldType<Word>::parse(other).has_value());
  }
}

TEST_CASE("only the usual form of a transaction hash packs, and is equal after unpacking") {
  const std::string digits = repeated("0123456789abcdef", 4);
  const std::string capitals = repeated("0123456789ABCDEF", 4);
  const std::string usual = "0x" + digits;
  std::array<char, 32> packed{};
  REQUIRE(FieldType<TransactionHash>::parse(usual).has_value());
  REQUIRE(TransactionHash::pack(usual, packed.data()));
  CHECK(packed[0] == '\x01');
  CHECK(packed[31] == '\xef');
  CHECK(text_of(PackedHexadecimal{{packed.data(), packed.size()}}) == usual);

  for (const std::string& other :
       {digits, "0X" + digits, "0x" + capitals, usual.substr(0, 65), usual + "0",
        usual.substr(0, 65) + "g", "1x" + digits, std::string("hash")}) {
    CAPTURE(other);
    REQUIRE(FieldType<TransactionHash>::parse(other).has_value());
    CHECK(FieldType<TransactionHash>::parse(other)->value == other);
    CHECK_FALSE(TransactionHash::pack(other, packed.data()));
  }
  CHECK_FALSE(FieldType<TransactionHash>::parse("").has_value());
}

TEST_CASE("random transaction hashes are equal after packing") {
  std::mt19937 random(55);
  for (int round = 0; round < 1'000; ++round) {
    std::array<char, 32> packed{};
    for (char& byte : packed) byte = static_cast<char>(random() & 0xff);
    std::array<char, 32> again{};
    REQUIRE(TransactionHash::pack(text_of(PackedHexadecimal{{packed.data(), packed.size()}}),
                                  again.data()));
    CHECK(again == packed);
  }
}

TEST_CASE("the expectations of texts describe their format") {
  CHECK(Label::expectation() == "1 to 128 characters without control characters");
  CHECK(Note::expectation() == "0 to 1024 characters without control characters");
  CHECK(Term::expectation() == Label::expectation());
  CHECK(TransactionHash::expectation() == Label::expectation());
  CHECK(Word::expectation() ==
        "a word of 1 to 64 characters A-Z, 0-9 and _ that begins with a letter, such as COMPLETED");
}

TEST_CASE("quoted text is cut to 80 bytes, between characters") {
  CHECK(shorten("") == "");
  CHECK(shorten(repeated("x", 80)) == repeated("x", 80));
  CHECK(shorten(repeated("x", 81)) == repeated("x", 80) + "...");
  CHECK(shorten("x" + repeated("\u00e9", 40)) == "x" + repeated("\u00e9", 39) + "...");
  CHECK(shorten(repeated("\x80", 81)) == "...");  // not a valid text
}

TEST_CASE("a text that is not UTF-8 or has too many or too few characters is refused") {
  CHECK(is_text("\u00e9", 1, 1));
  CHECK_FALSE(is_text("\xff", 1, 1));
  CHECK_FALSE(is_text("ab", 1, 1));
  CHECK_FALSE(is_text("", 1, 1));
  CHECK_FALSE(is_text("\u00e9", 2, 9));
}

TEST_CASE("a suggestion has the meaning of the name") {
  constexpr std::string_view known[] = {"created_at.lt",  "created_at.lte", "created_at.gt",
                                        "created_at.gte", "page_cursor",    "start_time",
                                        "end_time",       "statuses"};
  const auto suggested = [&](std::string_view name) {
    const std::string message = unknown_name_message(name, known);
    const std::size_t begin = message.find("mean ");
    return begin == std::string::npos ? "" : message.substr(begin + 5, message.size() - begin - 6);
  };
  CHECK(suggested("created_at.after").starts_with("created_at.gt"));
  CHECK(suggested("created_at.since").starts_with("created_at.gt"));
  CHECK(suggested("created_at.before").starts_with("created_at.lt"));
  CHECK(suggested("created_at.until").starts_with("created_at.lt"));
  CHECK(suggested("created_after").starts_with("created_at.gt"));
  CHECK(suggested("created_before").starts_with("created_at.lt"));
  CHECK(suggested("cursor") == "page_cursor");
  CHECK(suggested("status") == "statuses");
  CHECK(suggested("start") == "start_time");
  CHECK(suggested("nothing").empty());
}

TEST_CASE("a very long name is compared with no known name") {
  constexpr std::string_view known[] = {"created_at", "updated_at"};
  CHECK(unknown_name_message("create_at", known) == "is not known; did you mean created_at?");
  const std::string message = unknown_name_message(repeated("created_at", 7), known);
  CHECK(message.find("created_at, updated_at") != std::string::npos);
}

}  // namespace
}  // namespace comptroller
