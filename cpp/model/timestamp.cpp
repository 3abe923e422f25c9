#include "model/timestamp.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace comptroller {

namespace {

constexpr std::int64_t microseconds_per_second = 1'000'000;
constexpr std::int64_t seconds_per_minute = 60;
constexpr std::int64_t seconds_per_hour = 3'600;
constexpr std::int64_t seconds_per_day = 86'400;
constexpr std::uint32_t days_per_era = 146'097;  // 400 years
// From 0000-03-01, where the year of the calendar arithmetic begins, to 1970-01-01.
constexpr std::int64_t days_before_1970 = 719'468;
constexpr std::size_t fraction_digits = 6;
constexpr std::size_t shortest_text = sizeof("2026-01-31T23:59:59Z") - 1;

constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

constexpr std::array<std::uint8_t, 13> month_lengths{0,  31, 29, 31, 30, 31, 30,
                                                     31, 31, 30, 31, 30, 31};

struct Date {
  std::uint32_t year;
  std::uint32_t month;
  std::uint32_t day;
};

// Neri and Schneider, "Euclidean affine functions and their application to calendar algorithms":
// multiplications and shifts where division would do. `days` counts from 0000-03-01.
Date date_of(std::uint32_t days) {
  const std::uint32_t quarter_days = 4 * days + 3;
  const std::uint32_t century = quarter_days / days_per_era;
  const std::uint32_t in_century = (quarter_days % days_per_era) | 3U;
  const std::uint64_t scaled_year = std::uint64_t{2'939'745} * in_century;
  const auto year_of_century = static_cast<std::uint32_t>(scaled_year >> 32U);
  const std::uint32_t day_of_year = static_cast<std::uint32_t>(scaled_year) / 2'939'745 / 4;
  const std::uint32_t scaled_month = 2'141 * day_of_year + 197'913;
  const bool after_december = day_of_year >= 306;
  return {.year = 100 * century + year_of_century + (after_december ? 1U : 0U),
          .month = (scaled_month >> 16U) - (after_december ? 12U : 0U),
          .day = (scaled_month & 0xffffU) / 2'141 + 1};
}

// Days since 1970-01-01 of a date that exists (Howard Hinnant, "chrono-compatible low-level date
// algorithms"); year 0000 is allowed.
std::int64_t days_of(const Date& date) {
  // 400 years are added so that the divisions never see a negative number.
  const std::uint32_t year = date.year + 400 - (date.month <= 2 ? 1U : 0U);
  const std::uint32_t month = date.month > 2 ? date.month - 3 : date.month + 9;
  const std::uint32_t day_of_year = (153 * month + 2) / 5 + date.day - 1;
  const std::uint32_t days = 365 * year + year / 4 - year / 100 + year / 400 + day_of_year;
  return std::int64_t{days} - days_per_era - days_before_1970;
}

bool exists(const Date& date) {
  if (date.month < 1 || date.month > 12 || date.day < 1) return false;
  if (date.month == 2 && date.day == 29) {
    return date.year % 4 == 0 && (date.year % 100 != 0 || date.year % 400 == 0);
  }
  return date.day <= month_lengths[date.month];
}

// Reads fixed-width numbers and remembers whether anything but a digit was among them.
class Digits {
 public:
  explicit Digits(std::string_view text) : text_(text) {}

  std::uint32_t pair(std::size_t at) { return 10 * digit(at) + digit(at + 1); }
  [[nodiscard]] bool valid() const { return valid_; }

 private:
  std::uint32_t digit(std::size_t at) {
    const std::uint32_t value = static_cast<unsigned char>(text_[at]) - std::uint32_t{'0'};
    valid_ &= value <= 9;
    return value;
  }

  std::string_view text_;
  bool valid_ = true;
};

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

// Takes ".digits" from the front of `text`, if there, and gives the microseconds; nothing for a dot
// without a digit.
std::optional<std::int64_t> take_fraction(std::string_view& text) {
  if (text.front() != '.') return 0;
  std::int64_t microseconds = 0;
  std::size_t end = 1;
  for (; end < text.size() && is_digit(text[end]); ++end) {
    if (end <= fraction_digits) microseconds = 10 * microseconds + (text[end] - '0');
  }
  if (end == 1) return std::nullopt;
  for (std::size_t i = end; i <= fraction_digits; ++i) microseconds *= 10;
  text.remove_prefix(end);
  return microseconds;
}

// The seconds local time is ahead of UTC, from exactly `Z` or `+hh:mm` or `-hh:mm`.
std::optional<std::int64_t> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return 0;
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  Digits digits(text);
  const std::int64_t hours = digits.pair(1);
  const std::int64_t minutes = digits.pair(4);
  if (!digits.valid() || hours > 23 || minutes > 59) return std::nullopt;
  const std::int64_t seconds = hours * seconds_per_hour + minutes * seconds_per_minute;
  return text[0] == '-' ? -seconds : seconds;
}

void put_pair(char* out, std::uint32_t value) {
  std::memcpy(out, &digit_pairs[2 * std::size_t{value}], 2);
}

}  // namespace

std::optional<Timestamp> Timestamp::parse(std::string_view text) {
  if (text.size() < shortest_text || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  Digits digits(text);
  const Date date{.year = 100 * digits.pair(0) + digits.pair(2),
                  .month = digits.pair(5),
                  .day = digits.pair(8)};
  const std::uint32_t hour = digits.pair(11);
  const std::uint32_t minute = digits.pair(14);
  const std::uint32_t second = digits.pair(17);
  if (!digits.valid() || !exists(date) || hour > 23 || minute > 59 || second > 60) {
    return std::nullopt;
  }
  text.remove_prefix(shortest_text - 1);
  const std::optional<std::int64_t> fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const std::optional<std::int64_t> offset = offset_of(text);
  if (!offset) return std::nullopt;

  const std::int64_t minute_begins = days_of(date) * seconds_per_day + hour * seconds_per_hour +
                                     minute * seconds_per_minute - *offset;
  Timestamp timestamp{(minute_begins + second) * microseconds_per_second + *fraction};
  if (second == 60) {
    constexpr std::int64_t last_minute = seconds_per_day - seconds_per_minute;
    const std::int64_t in_day = minute_begins % seconds_per_day;
    if (in_day != last_minute && in_day != last_minute - seconds_per_day) return std::nullopt;
    timestamp.microseconds = (minute_begins + seconds_per_minute) * microseconds_per_second - 1;
  }
  if (timestamp < earliest_timestamp || timestamp > latest_timestamp) return std::nullopt;
  return timestamp;
}

std::string Timestamp::expectation() {
  return "an RFC 3339 timestamp with an offset, such as 2026-01-31T23:59:59Z";
}

void format_timestamp(Timestamp timestamp, char* out) {
  // From 0000-03-01 no moment in range is negative, and unsigned division by constants is cheapest.
  const auto since_epoch = static_cast<std::uint64_t>(
      std::clamp(timestamp, earliest_timestamp, latest_timestamp).microseconds +
      days_before_1970 * seconds_per_day * microseconds_per_second);
  const std::uint64_t seconds = since_epoch / microseconds_per_second;
  const auto microsecond =
      static_cast<std::uint32_t>(since_epoch - seconds * microseconds_per_second);
  const auto day = static_cast<std::uint32_t>(seconds / seconds_per_day);
  const auto second = static_cast<std::uint32_t>(seconds - std::uint64_t{day} * seconds_per_day);
  const Date date = date_of(day);

  std::memcpy(out, "0000-00-00T00:00:00.000000Z", timestamp_length);
  put_pair(out, date.year / 100);
  put_pair(out + 2, date.year % 100);
  put_pair(out + 5, date.month);
  put_pair(out + 8, date.day);
  put_pair(out + 11, second / 3'600);
  put_pair(out + 14, second / 60 % 60);
  put_pair(out + 17, second % 60);
  put_pair(out + 20, microsecond / 10'000);
  put_pair(out + 22, microsecond / 100 % 100);
  put_pair(out + 24, microsecond % 100);
}

std::string to_string(Timestamp timestamp) {
  std::string text(timestamp_length, '\0');
  format_timestamp(timestamp, text.data());
  return text;
}

}  // namespace comptroller
