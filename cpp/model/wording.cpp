#include "model/wording.hpp"

#include <algorithm>
#include <cstdint>
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

// Calls `visit` with each word of a name, such as created, at and gte of created_at.gte, until it
// returns true; returns whether it did.
template <class Visit>
bool any_word(std::string_view name, const Visit& visit) {
  while (true) {
    const std::size_t end = name.find_first_of("._");
    if (visit(name.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    name.remove_prefix(end + 1);
  }
}

enum class Bound : std::uint8_t { none, lower, upper };

// Returns which bound of a range a name means.
Bound bound_of(std::string_view name) {
  constexpr std::string_view lower[] = {"gt", "gte", "after", "since", "from", "min", "start"};
  constexpr std::string_view upper[] = {"lt", "lte", "before", "until", "to", "max", "end"};
  const auto is_in = [](std::span<const std::string_view> words) {
    return [words](std::string_view word) { return std::ranges::find(words, word) != words.end(); };
  };
  if (any_word(name, is_in(lower))) return Bound::lower;
  return any_word(name, is_in(upper)) ? Bound::upper : Bound::none;
}

// Returns the known name with the fewest edits to `name`, or one of which it is a word; empty if
// every name differs too much. Never suggests the opposite bound of a range.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known) {
  if (name.size() > max_compared_size) return {};
  const Bound bound = bound_of(name);
  std::string_view nearest;
  std::size_t fewest = name.size() / 2 + 1;  // at most half of the name may differ
  for (const std::string_view candidate : known) {
    const Bound other = bound_of(candidate);
    if (bound != Bound::none && other != Bound::none && bound != other) continue;
    const std::size_t edits = edits_between(name, candidate);
    if (edits < fewest) {
      fewest = edits;
      nearest = candidate;
    }
  }
  if (!nearest.empty()) return nearest;
  const auto found = std::ranges::find_if(known, [&](std::string_view candidate) {
    return any_word(candidate, [&](std::string_view word) { return word == name; });
  });
  return found == known.end() ? std::string_view() : *found;
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
