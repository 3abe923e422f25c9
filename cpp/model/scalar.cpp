#include "model/scalar.hpp"

#include <charconv>

namespace comptroller {

std::optional<PageLimit> PageLimit::parse(std::string_view text) {
  PageLimit limit;
  const char* end = text.data() + text.size();
  const auto [stop, failure] = std::from_chars(text.data(), end, limit.value);
  if (failure != std::errc{} || stop != end || limit.value < 1 || limit.value > most) {
    return std::nullopt;
  }
  return limit;
}

std::string PageLimit::expectation() {
  return "a whole number from 1 to " + std::to_string(most);
}

std::string refused_text(const std::string& expected, std::string_view text) {
  return "must be " + expected + ", not \"" + shorten(text) + "\"";
}

}  // namespace comptroller
