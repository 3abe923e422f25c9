// Exact decimals: at most 20 integer and 18 fraction digits, stored as the text received. Sums and
// comparisons use 128-bit integers of 10^-18; no amount ever becomes a float.
#pragma once

#include <array>
#include <concepts>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "model/storage_class.hpp"

namespace comptroller {

__extension__ using Int128 = __int128;

inline constexpr std::size_t amount_integer_digits = 20;
inline constexpr std::size_t amount_fraction_digits = 18;

// Returns the exact value of an amount times 10^18; nullopt if the text is not -?digits[.digits]
// within the limits above.
std::optional<Int128> read_amount(std::string_view text);

// Does the same for a parsed amount.
Int128 scaled(std::string_view text);

// Formats `value` times 10^-scale as the shortest plain decimal: no trailing fraction zeros, never
// "-0". `scale` is at most 38. The returned text refers to the buffer.
using DecimalBuffer = std::array<char, 41>;
std::string_view format_scaled(Int128 value, std::size_t scale, DecimalBuffer& buffer);

// Formats `value` times 10^-18.
std::string format_scaled(Int128 value);

// Returns a number of JSON as the text of an amount; nullopt if it may be a rounded float: if it
// has an exponent, or if it has more than 15 significant digits and is a double, printed with as
// many.
std::optional<std::string> exact_number(std::string_view number);

// Whether two amounts are equal as numbers: 1.50 is 1.5. Both must be parsed amounts.
bool same_value(std::string_view a, std::string_view b);

// The text of an amount.
struct Decimal {
  std::string_view text;
};

// -?digits[.digits]. Amounts are compared as numbers: 1.50 equals 1.5.
struct Amount {
  static constexpr std::string_view kind = "amount";
  static constexpr StorageClass storage = StorageClass::amount;

  std::string text;

  bool assign(std::string_view number);
  static std::string expectation();
  Decimal view() const { return {text}; }
  void canonicalise() { text = format_scaled(scaled(text)); }
  friend bool operator==(const Amount& a, const Amount& b) { return same_value(a.text, b.text); }
};

// An Amount without a minus sign; "-0" is invalid.
struct NonNegativeAmount : Amount {
  // NOLINTNEXTLINE(bugprone-derived-method-shadowing-base-method): fields have the derived type
  bool assign(std::string_view number);
  static std::string expectation();
};

template <class T>
inline constexpr bool is_amount = std::derived_from<T, Amount>;

}  // namespace comptroller
