#include "model/wording.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

namespace comptroller {

namespace {

constexpr std::size_t max_quoted_size = 80;
constexpr std::size_t max_compared_size = 64;

bool is_inside_character(char byte) {
  return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80;
}

// Levenshtein's distance, one row at a time.
std::size_t edits_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

// Returns the known name with the fewest edits to `name`; empty if every name differs too much.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > max_compared_size) return {};
  std::string_view nearest;
  std::size_t fewest = name.size() / 2 + 1;  // at most half of the name may differ
  for (const std::string_view candidate : known) {
    const std::size_t edits = edits_between(name, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  return nearest;
}

}  // namespace

std::string shorten(std::string_view text) {
  if (text.size() <= max_quoted_size) return std::string(text);
  std::size_t size = max_quoted_size;
  while (size > 0 && is_inside_character(text[size])) --size;
  return std::string(text.substr(0, size)) + "...";
}

std::string comma_separated(std::span<const std::string_view> names) {
  std::string list;
  for (const std::string_view name : names) list.append(list.empty() ? "" : ", ").append(name);
  return list;
}

std::string unknown_name_message(std::string_view name, std::span<const std::string_view> known) {
  if (const std::string_view nearest = nearest_name(name, known); !nearest.empty()) {
    return "is not known; did you mean " + std::string(nearest) + "?";
  }
  if (known.empty()) return "is not known; no name is allowed";
  return "is not known; allowed are " + comma_separated(known);
}

}  // namespace comptroller
