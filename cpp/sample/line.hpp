// Writes one JSON object as a line into a buffer that the caller has made large enough
// (max_line_bytes). Values are taken as they are: nothing written here needs escaping.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "sample/dice.hpp"

namespace comptroller::sample {

inline constexpr std::size_t max_line_bytes = 4096;

// Moments are microseconds since 1970, UTC.
inline constexpr std::uint64_t second_us = 1'000'000;
inline constexpr std::uint64_t hour_us = 3600 * second_us;
inline constexpr std::uint64_t day_us = 24 * hour_us;

constexpr std::uint64_t date_us(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
  return static_cast<std::uint64_t>(date.time_since_epoch().count()) * day_us;
}

struct Uuid {
  std::uint64_t high;
  std::uint64_t low;
};

// A UUID version 7 of that moment: ids of later microseconds sort later.
constexpr Uuid uuid_at(std::uint64_t moment_us, std::uint64_t random) {
  const std::uint64_t fraction = moment_us % 1000 * 4096 / 1000;
  return {(moment_us / 1000) << 16 | 0x7000u | fraction, (random >> 2) | (std::uint64_t{1} << 63)};
}

inline constexpr auto hex_pairs = [] {
  std::array<char, 512> pairs{};
  for (std::size_t byte = 0; byte < 256; ++byte) {
    pairs[byte * 2] = "0123456789abcdef"[byte >> 4];
    pairs[byte * 2 + 1] = "0123456789abcdef"[byte & 15];
  }
  return pairs;
}();

class Line {
 public:
  explicit Line(char* out) : at_(out) { put('{'); }

  // Ends the line and returns where the next one begins.
  char* end() {
    at_[-1] = '}';
    put('\n');
    return at_;
  }

  void open(std::string_view name) {
    key(name);
    put('{');
  }
  void close() {
    at_[-1] = '}';
    put(',');
  }

  void string(std::string_view name, std::string_view value) {
    key(name);
    quote();
    text(value);
    end_string();
  }
  // A word and a number, such as `order-00000012`.
  void numbered(std::string_view name, std::string_view word, std::uint64_t number, int width) {
    key(name);
    quote();
    text(word);
    digits(number, width);
    end_string();
  }
  void boolean(std::string_view name, bool value) {
    key(name);
    text(value ? "true," : "false,");
  }
  void null(std::string_view name) {
    key(name);
    text("null,");
  }
  void uuid(std::string_view name, Uuid id) {
    key(name);
    quote();
    uuid_text(id);
    end_string();
  }
  void time(std::string_view name, std::uint64_t moment_us) {
    const std::chrono::days day{static_cast<int>(moment_us / day_us)};
    const std::chrono::year_month_day date{std::chrono::sys_days{day}};
    const std::uint64_t second = moment_us % day_us / second_us;
    key(name);
    quote();
    digits(static_cast<std::uint64_t>(static_cast<int>(date.year())), 4);
    part('-', static_cast<unsigned>(date.month()));
    part('-', static_cast<unsigned>(date.day()));
    part('T', second / 3600);
    part(':', second / 60 % 60);
    part(':', second % 60);
    put('.');
    digits(moment_us % second_us, 6);
    put('Z');
    end_string();
  }
  // `whole.fraction`, the fraction with that many digits.
  void amount(std::string_view name, std::uint64_t whole, std::uint64_t fraction, int decimals) {
    key(name);
    quote();
    digits(whole, width_of(whole));
    put('.');
    digits(fraction, decimals);
    end_string();
  }

  void key(std::string_view name) {
    quote();
    text(name);
    text("\":");
  }
  void quote() { put('"'); }
  void end_string() { text("\","); }
  void put(char letter) { *at_++ = letter; }
  void text(std::string_view bytes) {
    std::memcpy(at_, bytes.data(), bytes.size());
    at_ += bytes.size();
  }
  void digits(std::uint64_t number, int width) {
    at_ += width;
    for (char* place = at_; width > 0; --width, number /= 10) {
      *--place = static_cast<char>('0' + number % 10);
    }
  }
  static constexpr int width_of(std::uint64_t number) {
    int width = 1;
    for (; number > 9; number /= 10) ++width;
    return width;
  }
  // The low `bytes` bytes of a number.
  void hex(std::uint64_t number, int bytes) {
    for (int shift = bytes * 8 - 8; shift >= 0; shift -= 8) {
      std::memcpy(at_, &hex_pairs[(number >> shift & 0xff) * 2], 2);
      at_ += 2;
    }
  }
  // Base58 digits are drawn, not encoded: a first digit from 1 up to `first` and any others make
  // exactly 32 bytes of 44 digits while first <= 15, and 64 bytes of 88 while first <= 4.
  void base58(Dice& dice, std::uint32_t first, int length) {
    constexpr std::string_view alphabet =
        "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
    put(alphabet[1 + dice.below(first)]);
    for (std::uint64_t drawn = 0; --length > 0; drawn /= 58) {
      if (length % 10 == 0 || drawn == 0) drawn = dice.next();
      put(alphabet[drawn % 58]);
    }
  }
  void uuid_text(Uuid id) {
    hex(id.high >> 32, 4);
    put('-');
    hex(id.high >> 16, 2);
    put('-');
    hex(id.high, 2);
    put('-');
    hex(id.low >> 48, 2);
    put('-');
    hex(id.low, 6);
  }

 private:
  void part(char before, std::uint64_t number) {
    put(before);
    digits(number, 2);
  }

  char* at_;
};

}  // namespace comptroller::sample
