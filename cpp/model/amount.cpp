#include "model/amount.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <limits>
#include <system_error>

#include "model/ascii.hpp"

namespace comptroller {

namespace {

__extension__ using UnsignedInt128 = unsigned __int128;

constexpr std::uint64_t one = 1'000'000'000'000'000'000;  // 10^18
constexpr std::size_t block_length = 8;

constexpr std::array<std::uint64_t, amount_fraction_digits + 1> powers_of_ten = [] {
  std::array<std::uint64_t, amount_fraction_digits + 1> powers{1};
  for (std::size_t i = 1; i < powers.size(); ++i) powers[i] = 10 * powers[i - 1];
  return powers;
}();

// Loads eight characters into one number; the first character becomes the lowest byte.
std::uint64_t block_of(std::string_view text) {
  std::uint64_t block = 0;
  std::memcpy(&block, text.data(), block_length);
  return std::endian::native == std::endian::little ? block : __builtin_bswap64(block);
}

// A digit has the high nibble 3. Adding 6 carries a low nibble above 9 into the high nibble.
bool is_digit_block(std::uint64_t block) {
  constexpr std::uint64_t high_nibbles = 0xf0f0f0f0f0f0f0f0;
  constexpr std::uint64_t threes = 0x3030303030303030;
  return (block & high_nibbles) == threes &&
         ((block + 0x0606060606060606) & high_nibbles) == threes;
}

// Returns the value of eight digits: combines digits into pairs, pairs into fours, fours into
// eight.
std::uint64_t value_of_block(std::uint64_t block) {
  constexpr std::uint64_t to_pairs = (10ULL << 8U) + 1;
  constexpr std::uint64_t to_fours = (100ULL << 16U) + 1;
  constexpr std::uint64_t to_eight = (10'000ULL << 32U) + 1;
  block = (block & 0x0f0f0f0f0f0f0f0fULL) * to_pairs >> 8U;
  block = (block & 0x00ff00ff00ff00ffULL) * to_fours >> 16U;
  return (block & 0x0000ffff0000ffffULL) * to_eight >> 32U;
}

// Returns the value of at most `maximum` digits, which Number can hold; nullopt for other text.
template <class Number>
std::optional<Number> read_digits(std::string_view text, std::size_t maximum) {
  if (text.empty() || text.size() > maximum) return std::nullopt;
  Number value = 0;
  for (; text.size() >= block_length; text.remove_prefix(block_length)) {
    const std::uint64_t block = block_of(text);
    if (!is_digit_block(block)) return std::nullopt;
    value = powers_of_ten[block_length] * value + value_of_block(block);
  }
  for (const char c : text) {
    if (!is_digit(c)) return std::nullopt;
    value = 10 * value + static_cast<std::uint64_t>(c - '0');
  }
  return value;
}

std::optional<Int128> read_unsigned_amount(std::string_view text) {
  std::size_t dot = 0;  // a loop is faster than find() for a few digits
  while (dot < text.size() && text[dot] != '.') ++dot;
  const auto whole = read_digits<UnsignedInt128>(text.substr(0, dot), amount_integer_digits);
  if (!whole) return std::nullopt;
  UnsignedInt128 value = *whole * one;
  if (dot < text.size()) {
    const std::string_view digits = text.substr(dot + 1);
    auto fraction = read_digits<std::uint64_t>(digits, amount_fraction_digits);
    if (!fraction) return std::nullopt;
    *fraction *= powers_of_ten[amount_fraction_digits - digits.size()];
    value += *fraction;
  }
  return static_cast<Int128>(value);
}

std::string expectation_of(std::string_view kind) {
  return std::string(kind) + " in plain decimal with at most " +
         std::to_string(amount_integer_digits) + " integer and " +
         std::to_string(amount_fraction_digits) + " fraction digits, such as 1250.75";
}

}  // namespace

std::optional<Int128> read_amount(std::string_view text) {
  const bool negative = text.starts_with('-');
  const auto value = read_unsigned_amount(text.substr(negative ? 1 : 0));
  return value && negative ? -*value : value;
}

Int128 scaled(std::string_view text) {
  return read_amount(text).value_or(0);
}

std::string_view format_scaled(Int128 value, std::size_t scale, DecimalBuffer& buffer) {
  auto magnitude = static_cast<UnsignedInt128>(value);
  if (value < 0) magnitude = -magnitude;

  char* end = buffer.data() + buffer.size();
  char* begin = end;
  char* const point = end - scale;
  const auto put_digits = [&](std::uint64_t digits, const char* until) {
    for (; digits != 0 || begin > until; digits /= 10) {
      *--begin = static_cast<char>('0' + digits % 10);
    }
  };
  for (; magnitude > std::numeric_limits<std::uint64_t>::max(); magnitude /= one) {
    put_digits(static_cast<std::uint64_t>(magnitude % one), begin - amount_fraction_digits);
  }
  put_digits(static_cast<std::uint64_t>(magnitude), point - 1);

  while (end > point && end[-1] == '0') --end;
  if (end > point) {
    std::copy(begin, point, begin - 1);
    --begin;
    point[-1] = '.';
  }
  if (value < 0) *--begin = '-';
  return {begin, end};
}

std::string format_scaled(Int128 value) {
  DecimalBuffer buffer{};
  return std::string(format_scaled(value, amount_fraction_digits, buffer));
}

std::optional<std::string> exact_number(std::string_view number) {
  constexpr std::size_t digits_of_any_double = 15;  // which a double keeps
  if (number.find_first_of("eE") != std::string_view::npos) return std::nullopt;
  const std::size_t dot = std::min(number.find('.'), number.size());
  const std::size_t first = std::min(number.find_first_of("123456789"), number.size());
  const std::size_t last = number.find_last_of("123456789");
  const std::size_t significant =
      first == number.size() ? 0 : last + 1 - first - (first < dot && dot < last ? 1 : 0);
  if (significant > digits_of_any_double) {
    // Only compared; the amount is never a double.
    double nearest = 0;
    std::from_chars(number.data(), number.data() + number.size(), nearest);
    std::array<char, 400> printed{};
    const auto fraction = static_cast<int>(number.size() - std::min(dot + 1, number.size()));
    const auto end = std::to_chars(printed.data(), printed.data() + printed.size(), nearest,
                                   std::chars_format::fixed, fraction);
    if (end.ec == std::errc() && number == std::string_view(printed.data(), end.ptr)) {
      return std::nullopt;
    }
  }
  return std::string(number);
}

bool same_value(std::string_view a, std::string_view b) {
  return a == b || scaled(a) == scaled(b);
}

bool Amount::assign(std::string_view number) {
  if (!read_amount(number)) return false;
  text = number;
  return true;
}

std::string Amount::expectation() {
  return expectation_of("a number");
}

bool NonNegativeAmount::assign(std::string_view number) {
  if (!read_unsigned_amount(number)) return false;
  text = number;
  return true;
}

std::string NonNegativeAmount::expectation() {
  return expectation_of("a number without a sign");
}

}  // namespace comptroller
