// Key-value pairs that a customer attaches to a record.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/storage_class.hpp"

namespace comptroller {

inline constexpr std::size_t metadata_maximum_pairs = 50;
inline constexpr std::size_t metadata_maximum_key_length = 64;     // code points, at least 1
inline constexpr std::size_t metadata_maximum_value_length = 512;  // code points

// Pairs in the order received. The order does not matter for equality.
struct Metadata {
  static constexpr std::string_view kind = "metadata";
  static constexpr StorageClass storage = StorageClass::document;

  std::vector<std::pair<std::string, std::string>> pairs;

  const auto& view() const { return pairs; }
  void canonicalise() { std::ranges::sort(pairs); }
  friend bool operator==(const Metadata& a, const Metadata& b);
};

// Returns why `metadata` is invalid (a limit, invalid text or a duplicate key) as the predicate of
// an error message; nullopt if it is valid.
std::optional<std::string> refusal(const Metadata& metadata);

}  // namespace comptroller
