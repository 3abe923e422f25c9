#include "model/metadata.hpp"

#include <algorithm>
#include <string_view>

#include "model/text.hpp"

namespace comptroller {

namespace {

using Pair = std::pair<std::string_view, std::string_view>;

std::vector<Pair> sorted_pairs(const Metadata& metadata) {
  std::vector<Pair> pairs(metadata.pairs.begin(), metadata.pairs.end());
  std::ranges::sort(pairs);
  return pairs;
}

}  // namespace

bool operator==(const Metadata& a, const Metadata& b) {
  if (a.pairs == b.pairs) return true;
  return a.pairs.size() == b.pairs.size() && sorted_pairs(a) == sorted_pairs(b);
}

std::optional<std::string> refusal(const Metadata& metadata) {
  if (metadata.pairs.size() > metadata_maximum_pairs) {
    return "must have at most " + std::to_string(metadata_maximum_pairs) + " pairs, not " +
           std::to_string(metadata.pairs.size());
  }
  for (const auto& [key, value] : metadata.pairs) {
    // The message does not quote an invalid key, because the key may be long or invalid text.
    if (!is_text(key, 1, metadata_maximum_key_length)) {
      return "must have keys of " + text_expectation(1, metadata_maximum_key_length);
    }
    if (!is_text(value, 0, metadata_maximum_value_length)) {
      return "must have values of " + text_expectation(0, metadata_maximum_value_length) +
             "; the value of \"" + key + "\" is invalid";
    }
  }
  const std::vector<Pair> pairs = sorted_pairs(metadata);
  const auto repeated = std::ranges::adjacent_find(pairs, {}, &Pair::first);
  if (repeated == pairs.end()) return std::nullopt;
  return "must name each key once; \"" + std::string(repeated->first) + "\" appears more than once";
}

}  // namespace comptroller
