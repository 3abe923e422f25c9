// A country: two capital letters (ISO 3166-1).
#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>

#include "model/storage_class.hpp"

namespace comptroller {

struct Country {
  static constexpr std::string_view kind = "string";
  static constexpr StorageClass storage = StorageClass::symbol;

  std::string value;

  static std::optional<Country> parse(std::string_view text) {
    const auto is_capital = [](char c) { return c >= 'A' && c <= 'Z'; };
    if (text.size() != 2 || !std::ranges::all_of(text, is_capital)) return std::nullopt;
    return Country{std::string(text)};
  }
  static std::string expectation() { return "two capital letters, such as DE"; }
  friend auto operator<=>(const Country&, const Country&) = default;
};

}  // namespace comptroller
