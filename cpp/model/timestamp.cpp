#include "model/timestamp.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstring>
#include <utility>

#include "model/ascii.hpp"

namespace comptroller {

namespace {

using std::chrono::days, std::chrono::hours, std::chrono::minutes, std::chrono::seconds;
using std::chrono::sys_days, std::chrono::year_month_day;
using Microseconds = std::chrono::microseconds;

constexpr std::size_t fraction_digits = 6;
constexpr std::size_t date_length = sizeof("2026-01-31") - 1;
constexpr std::size_t shortest_text = sizeof("2026-01-31T23:59:59Z") - 1;

constexpr std::array<char, 200> digit_pairs = [] {
  std::array<char, 200> pairs{};
  for (std::size_t i = 0; i < 100; ++i) {
    pairs[2 * i] = static_cast<char>('0' + i / 10);
    pairs[2 * i + 1] = static_cast<char>('0' + i % 10);
  }
  return pairs;
}();

// Reads numbers of fixed width and remembers whether all characters were digits.
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

// Removes ".digits" from the start of `text`, if present, and returns the microseconds; nullopt if
// a dot has no digit after it.
std::optional<Microseconds> take_fraction(std::string_view& text) {
  if (text.front() != '.') return Microseconds(0);
  std::int64_t fraction = 0;
  std::size_t end = 1;
  for (; end < text.size() && is_digit(text[end]); ++end) {
    if (end <= fraction_digits) fraction = 10 * fraction + (text[end] - '0');
  }
  if (end == 1) return std::nullopt;
  for (std::size_t i = end; i <= fraction_digits; ++i) fraction *= 10;
  text.remove_prefix(end);
  return Microseconds(fraction);
}

// The offset of local time from UTC: exactly `Z`, `+hh:mm` or `-hh:mm`.
std::optional<minutes> offset_of(std::string_view text) {
  if (text == "Z" || text == "z") return minutes(0);
  if (text.size() != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':') return std::nullopt;
  Digits digits(text);
  const hours hour(digits.pair(1));
  const minutes minute(digits.pair(4));
  if (!digits.valid() || hour > hours(23) || minute > minutes(59)) return std::nullopt;
  return text[0] == '-' ? -(hour + minute) : hour + minute;
}

std::string_view take_digits(std::string_view& text) {
  const std::string_view digits(text.begin(), std::ranges::find_if_not(text, is_digit));
  text.remove_prefix(digits.size());
  return digits;
}

// Removes a day from the start of `text` and returns it as YYYY-MM-DD: with the year first, as
// 2026/1/31, or with points and the day first, as 31.1.2026. The others are ambiguous.
std::optional<std::string> take_day(std::string_view& text) {
  std::array<std::string_view, 3> parts = {take_digits(text), {}, {}};
  const char mark = text.empty() ? ' ' : text.front();
  for (std::size_t part = 1; part < parts.size(); ++part) {
    if (text.empty() || text.front() != mark) return std::nullopt;
    text.remove_prefix(1);
    parts.at(part) = take_digits(text);
  }
  auto& [year, month, day] = parts;
  if (mark == '.' && year.size() <= 2) std::swap(year, day);
  if ((mark != '-' && mark != '.' && mark != '/') || year.size() != 4) return std::nullopt;
  std::string result(year);
  for (const std::string_view part : {month, day}) {
    if (part.empty() || part.size() > 2) return std::nullopt;
    result += part.size() == 1 ? "-0" : "-";
    result += part;
  }
  return result;
}

// Returns a time of a day with two digits for its hour, with seconds, and with a point.
std::string full_clock(std::string_view text) {
  std::string clock(text);
  if (clock.find(':') == 1) clock.insert(0, 1, '0');
  if (clock.size() == sizeof("23:59") - 1) clock += ":00";
  std::ranges::replace(clock, ',', '.');
  return clock;
}

void put_pair(char* out, std::uint32_t value) {
  std::memcpy(out, &digit_pairs[2 * std::size_t{value}], 2);
}

}  // namespace

std::optional<Timestamp> Timestamp::parse(std::string_view text) {
  if (text.size() == date_length) return parse(std::string(text) + "T00:00:00Z");
  if (text.size() < shortest_text || text[4] != '-' || text[7] != '-' ||
      (text[10] != 'T' && text[10] != 't') || text[13] != ':' || text[16] != ':') {
    return std::nullopt;
  }
  Digits digits(text);
  const auto year = static_cast<int>(100 * digits.pair(0) + digits.pair(2));
  const year_month_day date(std::chrono::year{year}, std::chrono::month{digits.pair(5)},
                            std::chrono::day{digits.pair(8)});
  const hours hour(digits.pair(11));
  const minutes minute(digits.pair(14));
  const seconds second(digits.pair(17));
  if (!digits.valid() || !date.ok() || hour > hours(23) || minute > minutes(59) ||
      second > seconds(60)) {
    return std::nullopt;
  }
  text.remove_prefix(shortest_text - 1);
  const std::optional<Microseconds> fraction = take_fraction(text);
  if (!fraction) return std::nullopt;
  const std::optional<minutes> offset = offset_of(text);
  if (!offset) return std::nullopt;

  const auto minute_begins = sys_days(date) + hour + minute - *offset;
  auto instant = minute_begins + second + *fraction;
  if (second == seconds(60)) {
    const auto next_minute = minute_begins + minutes(1);
    if (next_minute != std::chrono::floor<days>(next_minute)) return std::nullopt;
    instant = next_minute - Microseconds(1);
  }
  const Timestamp timestamp{instant.time_since_epoch().count()};
  if (timestamp < earliest_timestamp || timestamp > latest_timestamp) return std::nullopt;
  return timestamp;
}

std::optional<Timestamp> Timestamp::parse_loaded(std::string_view text) {
  if (const std::optional<Timestamp> plain = parse(text)) return plain;
  constexpr std::string_view spaces = " \t\r\n";
  const std::size_t first = std::min(text.find_first_not_of(spaces), text.size());
  text = text.substr(first, text.find_last_not_of(spaces) + 1 - first);
  const std::optional<std::string> day = take_day(text);
  if (!day || text.empty()) return day ? parse(*day) : std::nullopt;
  if (text.front() != 'T' && text.front() != 't' && text.front() != ' ') return std::nullopt;
  text.remove_prefix(std::min(text.find_first_not_of(' ', 1), text.size()));
  std::size_t zone = std::min(text.find_first_of("Zz+- "), text.size());
  const std::string clock = full_clock(text.substr(0, zone));
  zone = std::min(text.find_first_not_of(' ', zone), text.size());
  std::string offset(text.substr(zone));
  const bool is_offset = offset.starts_with('+') || offset.starts_with('-');
  if (is_offset && offset.size() == 3) offset += ":00";
  if (is_offset && offset.size() == 5) offset.insert(3, 1, ':');
  return parse(*day + 'T' + clock + offset);
}

std::string Timestamp::expectation() {
  return "an RFC 3339 timestamp with an offset, such as 2026-01-31T23:59:59Z, or a date in UTC";
}

void format_timestamp(Timestamp timestamp, char* out) {
  const Timestamp written = std::clamp(timestamp, earliest_timestamp, latest_timestamp);
  const std::chrono::sys_time<Microseconds> instant{Microseconds(written.microseconds)};
  const auto day = std::chrono::floor<days>(instant);
  const year_month_day date(day);
  const auto in_day = static_cast<std::uint64_t>((instant - day).count());
  const auto second = static_cast<std::uint32_t>(in_day / 1'000'000);
  const auto microsecond = static_cast<std::uint32_t>(in_day % 1'000'000);
  const auto year = static_cast<std::uint32_t>(static_cast<int>(date.year()));

  std::memcpy(out, "0000-00-00T00:00:00.000000Z", timestamp_length);
  put_pair(out, year / 100);
  put_pair(out + 2, year % 100);
  put_pair(out + 5, static_cast<unsigned>(date.month()));
  put_pair(out + 8, static_cast<unsigned>(date.day()));
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
