#include "model/amount.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <random>

#include "model/scalar.hpp"

namespace comptroller {
namespace {

constexpr Int128 one = 1'000'000'000'000'000'000;
const std::string nines20(20, '9');
const std::string nines18(18, '9');

// 10^38 - 1, the largest amount.
Int128 largest() {
  Int128 value = 1;
  for (int i = 0; i < 38; ++i) value *= 10;
  return value - 1;
}

struct Shown {
  std::string text;
  Int128 value;
  std::string shortest;
};

TEST_CASE("amounts are exact multiples of 10^-18 and keep their text") {
  const Shown cases[] = {
      {"0", 0, "0"},
      {"-0", 0, "0"},
      {"-0.000", 0, "0"},
      {"1", one, "1"},
      {"-1", -one, "-1"},
      {"007", 7 * one, "7"},
      {"1.50", 3 * one / 2, "1.5"},
      {"-1.5", -3 * one / 2, "-1.5"},
      {"10", 10 * one, "10"},
      {"99", 99 * one, "99"},
      {"100", 100 * one, "100"},
      {"12345", 12345 * one, "12345"},
      {"0.000000000000000001", 1, "0.000000000000000001"},
      {"-0.000000000000000001", -1, "-0.000000000000000001"},
      {"0.100000000000000000", one / 10, "0.1"},
      {"00000000000000000001.000000000000000000", one, "1"},
      {"9223372036854775808", Int128{9'223'372'036'854'775'807} * one + one, "9223372036854775808"},
      {"10000000000000000000", Int128{1'000'000'000} * 10'000'000'000 * one,
       "10000000000000000000"},
      {nines20 + "." + nines18, largest(), nines20 + "." + nines18},
      {"-" + nines20 + "." + nines18, -largest(), "-" + nines20 + "." + nines18},
  };
  for (const Shown& expected : cases) {
    CAPTURE(expected.text);
    REQUIRE(FieldType<Amount>::parse(expected.text).has_value());
    CHECK(FieldType<Amount>::parse(expected.text)->text == expected.text);
    CHECK((scaled(expected.text) == expected.value));
    CHECK(format_scaled(expected.value) == expected.shortest);
  }
}

TEST_CASE("text that is not a plain decimal within the limits is refused") {
  for (const std::string& text :
       {std::string(),         std::string("-"),     std::string("+1"),    std::string(".5"),
        std::string("1."),     std::string("-.5"),   std::string("-1."),   std::string("."),
        std::string("1e3"),    std::string("1E3"),   std::string("NaN"),   std::string("Infinity"),
        std::string("1,5"),    std::string("1_000"), std::string(" 1"),    std::string("1 "),
        std::string("--1"),    std::string("1-"),    std::string("1.2.3"), std::string("1.-2"),
        std::string("0x1"),    std::string("1/"),    std::string("1:"),    std::string("\xd9\xa1"),
        std::string("1\0", 2), "1" + nines20,        "0" + nines20,        "1." + nines18 + "0"}) {
    CAPTURE(text);
    CHECK_FALSE(FieldType<Amount>::parse(text).has_value());
    CHECK_FALSE(FieldType<NonNegativeAmount>::parse(text).has_value());
  }
}

TEST_CASE("every byte except digits is refused at every position") {
  for (std::size_t length = 1; length <= 20; ++length) {
    for (std::size_t position = 0; position < length; ++position) {
      for (int byte = 0; byte < 256; ++byte) {
        if (byte == '.' || (byte == '-' && position == 0)) continue;
        std::string text(length, '4');
        text[position] = static_cast<char>(byte);
        const bool expected = byte >= '0' && byte <= '9';
        CHECK(FieldType<Amount>::parse(text).has_value() == expected);
      }
    }
  }
}

TEST_CASE("a non-negative amount has no minus sign") {
  for (const std::string_view text : {"0", "0.0", "007", "1.50"}) {
    CAPTURE(text);
    REQUIRE(FieldType<NonNegativeAmount>::parse(text).has_value());
    CHECK(FieldType<NonNegativeAmount>::parse(text)->text == text);
  }
  for (const std::string_view text : {"-0", "-0.0", "-1", "-1.5"}) {
    CAPTURE(text);
    CHECK_FALSE(FieldType<NonNegativeAmount>::parse(text).has_value());
    CHECK(FieldType<Amount>::parse(text).has_value());
  }
}

TEST_CASE("amounts compare as numbers") {
  CHECK(same_value("1.50", "1.5"));
  CHECK(same_value("-0", "0.000"));
  CHECK(same_value("007", "7"));
  CHECK_FALSE(same_value("1.5", "-1.5"));
  CHECK_FALSE(same_value("0.000000000000000001", "0"));
  CHECK(Amount{"2.0"} == Amount{"2"});
  CHECK(Amount{"2.0"} != Amount{"2.1"});
  CHECK(NonNegativeAmount{"2.0"} == NonNegativeAmount{"02"});
  CHECK(NonNegativeAmount{"2.0"} != NonNegativeAmount{"3"});
}

TEST_CASE("sums beyond the largest amount are shown completely") {
  CHECK(format_scaled(largest() + 1) == "100000000000000000000");
  const Int128 most = ~(Int128{1} << 127);
  CHECK(format_scaled(most) == "170141183460469231731.687303715884105727");
  CHECK(format_scaled(-most - 1) == "-170141183460469231731.687303715884105728");
}

TEST_CASE("decimals of any scale have their shortest text") {
  const Int128 most = ~(Int128{1} << 127);
  DecimalBuffer buffer{};
  CHECK(format_scaled(0, 0, buffer) == "0");
  CHECK(format_scaled(-100, 0, buffer) == "-100");
  CHECK(format_scaled(-100, 2, buffer) == "-1");
  CHECK(format_scaled(-5, 2, buffer) == "-0.05");
  CHECK(format_scaled(1'230, 3, buffer) == "1.23");
  CHECK(format_scaled(1, 38, buffer) == "0.00000000000000000000000000000000000001");
  CHECK(format_scaled(-most - 1, 38, buffer) == "-1.70141183460469231731687303715884105728");
  CHECK(format_scaled(most, 0, buffer) == "170141183460469231731687303715884105727");
  CHECK(format_scaled(most / 10 * 10, 1, buffer) == "17014118346046923173168730371588410572");
  CHECK(format_scaled(Int128{1} << 64, 19, buffer) == "1.8446744073709551616");
}

TEST_CASE("random numbers are read from their shortest text, and from texts with zeros added") {
  std::mt19937_64 random(1018);
  for (int round = 0; round < 50'000; ++round) {
    const Int128 limit = largest() + 1;
    Int128 value = static_cast<Int128>(random() >> 1) << 64 | random();
    value %= limit;
    // Numbers of every size, including round numbers.
    for (std::uint64_t cut = random() % 38; cut > 0; --cut) value /= 10;
    for (std::uint64_t zeros = random() % 19; zeros > 0 && value < limit / 10; --zeros) value *= 10;
    if (random() % 2 == 0) value = -value;
    const std::string text = format_scaled(value);
    CAPTURE(text);
    REQUIRE(FieldType<Amount>::parse(text).has_value());
    CHECK((scaled(text) == value));
    const std::size_t dot = text.find('.');
    std::string longer = dot == std::string::npos ? text + "." : text;
    const std::size_t fraction = longer.size() - longer.find('.') - 1;
    longer.append(18 - fraction, '0');
    REQUIRE(FieldType<Amount>::parse(longer).has_value());
    CHECK((scaled(longer) == value));
    CHECK(same_value(text, longer));
  }
}

TEST_CASE("text that is not an amount has no value") {
  for (const std::string& text : {std::string(), std::string("-"), std::string("."),
                                  std::string(300, '9'), "1." + std::string(300, '9')}) {
    CAPTURE(text);
    CHECK_FALSE(read_amount(text).has_value());
  }
}

TEST_CASE("the expectation of amounts describes their format") {
  CHECK(Amount::expectation() ==
        "a number in plain decimal with at most 20 integer and 18 fraction digits, such as "
        "1250.75");
  CHECK(NonNegativeAmount::expectation() ==
        "a number without a sign in plain decimal with at most 20 integer and 18 fraction digits, "
        "such as 1250.75");
}

TEST_CASE("a number is exact unless it may be a rounded float") {
  for (const std::string text :
       {"0", "0.0", "12.50", "-7", "123456789012345", "123456789012345000", "0.000123456789012345",
        "12345678901234567", "0.123456789012345678", "1655.390000000000065536"}) {
    CAPTURE(text);
    CHECK(exact_number(text) == text);
  }
  for (const std::string_view text :
       {"0.30000000000000004", "0.10000000000000001", "12345678901234568", "1e3", "1E400",
        "0.1000000000000000055511151231257827"}) {
    CAPTURE(text);
    CHECK_FALSE(exact_number(text).has_value());
  }
}

TEST_CASE("amounts are equal if their values are") {
  CHECK(Amount{"1.50"} == Amount{"1.5"});
  CHECK_FALSE(Amount{"1.5"} == Amount{"1.51"});
}

TEST_CASE("amounts that differ in their last digit are not equal") {
  CHECK(same_value("1.50", "1.5"));
  CHECK_FALSE(same_value("1.000000000000000001", "1"));
  CHECK_FALSE(same_value("99999999999999999999.999999999999999999",
                         "99999999999999999999.999999999999999998"));
}

}  // namespace
}  // namespace comptroller
