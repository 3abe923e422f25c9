#include "model/timestamp.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <limits>
#include <random>

namespace comptroller {
namespace {

struct Accepted {
  std::string_view text;
  std::string_view shown;
};

TEST_CASE("RFC 3339 timestamps with an offset are converted to UTC microseconds") {
  const Accepted cases[] = {
      {"1970-01-01T00:00:00Z", "1970-01-01T00:00:00.000000Z"},
      {"2026-01-31T23:59:59Z", "2026-01-31T23:59:59.000000Z"},
      {"2026-01-31t23:59:59z", "2026-01-31T23:59:59.000000Z"},
      {"2026-01-31T23:59:59+00:00", "2026-01-31T23:59:59.000000Z"},
      {"2026-01-31T23:59:59-00:00", "2026-01-31T23:59:59.000000Z"},
      {"2026-01-31T23:59:59+05:30", "2026-01-31T18:29:59.000000Z"},
      {"2026-01-31T23:59:59-00:01", "2026-02-01T00:00:59.000000Z"},
      {"2026-01-31T23:59:59-23:59", "2026-02-01T23:58:59.000000Z"},
      {"2026-01-01T00:00:00+23:59", "2025-12-31T00:01:00.000000Z"},
      // Any number of fraction digits; they are truncated, not rounded.
      {"2026-01-31T23:59:59.5Z", "2026-01-31T23:59:59.500000Z"},
      {"2026-01-31T23:59:59.05+01:00", "2026-01-31T22:59:59.050000Z"},
      {"2026-01-31T23:59:59.123456Z", "2026-01-31T23:59:59.123456Z"},
      {"2026-01-31T23:59:59.9999999Z", "2026-01-31T23:59:59.999999Z"},
      {"2026-01-31T23:59:59.000000999999999999999999999999Z", "2026-01-31T23:59:59.000000Z"},
      {"1969-12-31T23:59:59.9999999Z", "1969-12-31T23:59:59.999999Z"},
      // A date is the start of this day in UTC.
      {"2026-01-31", "2026-01-31T00:00:00.000000Z"},
      {"2024-02-29", "2024-02-29T00:00:00.000000Z"},
      {"0001-01-01", "0001-01-01T00:00:00.000000Z"},
      {"9999-12-31", "9999-12-31T00:00:00.000000Z"},
      // Leap years.
      {"2024-02-29T12:00:00Z", "2024-02-29T12:00:00.000000Z"},
      {"2000-02-29T12:00:00Z", "2000-02-29T12:00:00.000000Z"},
      {"2000-02-29T23:30:00-01:00", "2000-03-01T00:30:00.000000Z"},
      // The earliest and latest times, in UTC.
      {"0001-01-01T00:00:00Z", "0001-01-01T00:00:00.000000Z"},
      {"0000-12-31T23:59:59-01:00", "0001-01-01T00:59:59.000000Z"},
      {"9999-12-31T23:59:59.999999Z", "9999-12-31T23:59:59.999999Z"},
      // Second 60 of the last minute of a UTC day.
      {"2016-12-31T23:59:60Z", "2016-12-31T23:59:59.999999Z"},
      {"2016-12-31T23:59:60.123Z", "2016-12-31T23:59:59.999999Z"},
      {"1960-12-31T23:59:60Z", "1960-12-31T23:59:59.999999Z"},
      {"1970-01-01T00:59:60+01:00", "1969-12-31T23:59:59.999999Z"},
      {"2016-12-31T18:29:60-05:30", "2016-12-31T23:59:59.999999Z"},
      {"9999-12-31T23:59:60Z", "9999-12-31T23:59:59.999999Z"},
  };
  for (const Accepted& expected : cases) {
    CAPTURE(expected.text);
    const std::optional<Timestamp> timestamp = Timestamp::parse(expected.text);
    REQUIRE(timestamp.has_value());
    CHECK(to_string(*timestamp) == expected.shown);
    CHECK(Timestamp::parse(expected.shown) == timestamp);
  }
}

TEST_CASE("text that is not a timestamp with an offset is refused") {
  for (const std::string_view text : {
           "",
           "2026-01-31Z",
           "2026-01-31T",
           "2026-1-31T",
           "2026-02-29",
           "2026-13-01",
           "0000-12-31",
           "2026/01/31",
           "31-01-2026",
           "2026-01-31T23:59:59",
           "2026-01-31T23:59Z",
           "2026-01-31T23:59:5Z",
           "2026-01-31 23:59:59Z",
           "2026-01-31_23:59:59Z",
           "2026/01-31T23:59:59Z",
           "2026-01/31T23:59:59Z",
           "2026-01-31T23.59:59Z",
           "2026-01-31T23:59.59Z",
           "20260131T235959Z000000",
           " 2026-01-31T23:59:59Z",
           "2026-01-31T23:59:59Z ",
           "2026-01-31T23:59:59ZZ",
           "+026-01-31T23:59:59Z",
           "-001-01-31T23:59:59Z",
           // The fraction.
           "2026-01-31T23:59:59.Z",
           "2026-01-31T23:59:59.",
           "2026-01-31T23:59:59.5",
           "2026-01-31T23:59:59,5Z",
           "2026-01-31T23:59:59.5.5Z",
           "2026-01-31T23:59:59.5/Z",
           // The offset.
           "2026-01-31T23:59:59+24:00",
           "2026-01-31T23:59:59+00:60",
           "2026-01-31T23:59:59+0000",
           "2026-01-31T23:59:59+00",
           "2026-01-31T23:59:59+0a:00",
           "2026-01-31T23:59:59+00.00",
           "2026-01-31T23:59:59 00:00",
           "2026-01-31T23:59:59+00:00Z",
           "2026-01-31T23:59:59UTC",
           // Impossible dates and times.
           "2026-00-31T23:59:59Z",
           "2026-13-31T23:59:59Z",
           "2026-01-00T23:59:59Z",
           "2026-01-32T23:59:59Z",
           "2026-02-29T23:59:59Z",
           "2026-04-31T23:59:59Z",
           "1900-02-29T23:59:59Z",
           "2024-02-30T23:59:59Z",
           "2026-01-31T24:00:00Z",
           "2026-01-31T23:60:00Z",
           "2026-01-31T23:59:61Z",
           "2026-01-31T12:59:60Z",
           "2016-12-31T23:59:60+01:00",
           "2016-12-31T23:58:60Z",
           "1960-12-31T22:59:60Z",
           // Outside the years 0001 to 9999 in UTC.
           "0000-12-31T23:59:59Z",
           "0001-01-01T00:59:59+01:00",
           "0001-01-01T00:58:60+00:59",
           "9999-12-31T23:59:59-00:01",
       }) {
    CAPTURE(text);
    CHECK_FALSE(Timestamp::parse(text).has_value());
  }
}

TEST_CASE("a timestamp with a changed byte is refused") {
  const std::string text = "2026-01-31T23:59:59.123456+00:00";
  REQUIRE(Timestamp::parse(text).has_value());
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char other : {'\0', '/', ';', 'x', '\xb0'}) {
      std::string damaged = text;
      damaged[i] = other;
      CAPTURE(damaged);
      CHECK_FALSE(Timestamp::parse(damaged).has_value());
    }
  }
}

TEST_CASE("every day of the years 0001 to 9999 is formatted according to the calendar") {
  using std::chrono::days;
  using std::chrono::sys_days;
  constexpr std::int64_t day_length = 86'400'000'000;
  std::int64_t wrong = 0;
  std::int64_t count = 0;
  char text[timestamp_length];
  for (std::int64_t instant = earliest_timestamp.microseconds;
       instant < latest_timestamp.microseconds; instant += day_length) {
    const std::chrono::year_month_day date{sys_days{days{instant / day_length}}};
    format_timestamp({instant + count % day_length}, text);
    const auto digits = [&text](int at, int length) {
      int value = 0;
      for (int i = at; i < at + length; ++i) value = 10 * value + (text[i] - '0');
      return value;
    };
    const bool same =
        digits(0, 4) == int{date.year()} &&
        digits(5, 2) == static_cast<int>(unsigned{date.month()}) &&
        digits(8, 2) == static_cast<int>(unsigned{date.day()}) &&
        Timestamp::parse({text, timestamp_length}) == Timestamp{instant + count % day_length};
    wrong += same ? 0 : 1;
    ++count;
  }
  CHECK(wrong == 0);
  CHECK(count == 3'652'059);
}

TEST_CASE("times to load may be written as databases do") {
  const auto noon = Timestamp::parse("2026-01-31T12:00:00Z");
  for (const std::string_view text :
       {"2026-01-31T12:00:00Z", "2026-01-31 12:00:00Z", "2026-01-31 12:00:00+00",
        "2026-01-31 13:00:00.000+01:00", "2026-01-31T13:00:00+0100", " 2026-01-31t12:00:00z ",
        "2026-01-31 12:00:00 +00:00", "31.1.2026 12:00Z", "2026/01/31  12:00:00,0Z"}) {
    CAPTURE(text);
    CHECK(Timestamp::parse_loaded(text) == noon);
  }
  for (const std::string_view text :
       {" 2026-01-31 ", "31.01.2026", "31.1.2026", "2026/01/31", "2026.1.31", "2026-1-31"}) {
    CAPTURE(text);
    CHECK(Timestamp::parse_loaded(text) == Timestamp::parse("2026-01-31"));
  }
  for (const std::string_view text : {"",
                                      " ",
                                      "2026-01-31 12:00:00",
                                      "2026-01-31 12:00",
                                      "2026-01-31_12:00:00Z",
                                      "2026-01-31 ++",
                                      "2026-01-31 12:00:00+1",
                                      "2026-01-31 12:00:00+010",
                                      "2026-01-31 12:00:00+",
                                      "2026-01-31 Z",
                                      "31/01/2026",
                                      "31-01-2026",
                                      "31.01.26",
                                      "31.02.2026",
                                      "2026-01/31",
                                      "2026-01-",
                                      "31.01.2026Z",
                                      "1.31.2026",
                                      "131.1.2026",
                                      "2026-001-31",
                                      "31.01.2026 12:00",
                                      "31.01.2026 1200Z"}) {
    CAPTURE(text);
    CHECK_FALSE(Timestamp::parse_loaded(text).has_value());
  }
}

TEST_CASE("random times are equal after formatting and parsing") {
  std::mt19937_64 random(20260131);
  std::uniform_int_distribution<std::int64_t> instants(earliest_timestamp.microseconds,
                                                       latest_timestamp.microseconds);
  for (int round = 0; round < 20'000; ++round) {
    const Timestamp timestamp{instants(random)};
    CHECK(Timestamp::parse(to_string(timestamp)) == timestamp);
  }
}

TEST_CASE("a time outside the years is shown as the nearest time inside") {
  CHECK(to_string({std::numeric_limits<std::int64_t>::min()}) == "0001-01-01T00:00:00.000000Z");
  CHECK(to_string({earliest_timestamp.microseconds - 1}) == "0001-01-01T00:00:00.000000Z");
  CHECK(to_string({latest_timestamp.microseconds + 1}) == "9999-12-31T23:59:59.999999Z");
  CHECK(to_string({std::numeric_limits<std::int64_t>::max()}) == "9999-12-31T23:59:59.999999Z");
}

TEST_CASE("timestamps are ordered by time, and their expectation describes the format") {
  CHECK(Timestamp{1} < Timestamp{2});
  CHECK(Timestamp{} == Timestamp{0});
  CHECK(Timestamp::expectation() ==
        "an RFC 3339 timestamp with an offset, such as 2026-01-31T23:59:59Z, or a date in UTC");
}

}  // namespace
}  // namespace comptroller
