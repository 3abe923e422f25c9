#pragma once

#include <algorithm>
#include <compare>
#include <optional>
#include <string>
#include <string_view>

#include "model/storage_class.hpp"

namespace comptroller {

// An ISO 3166-1 alpha-2 country code. The code itself is not looked up.
struct CountryCode {
  static constexpr std::string_view kind = "string";
  static constexpr StorageClass storage = StorageClass::text;
  static constexpr std::size_t minimum_length = 2;
  static constexpr std::size_t maximum_length = 2;

  std::string value;

  static std::optional<CountryCode> parse(std::string_view text) {
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (text.size() != maximum_length || !std::ranges::all_of(text, is_capital)) {
      return std::nullopt;
    }
    return CountryCode{std::string(text)};
  }
  static std::string expectation() { return "a country code of two capital letters, such as CH"; }
  friend auto operator<=>(const CountryCode&, const CountryCode&) = default;
};

}  // namespace comptroller
