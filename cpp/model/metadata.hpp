// Free pairs of text a customer attaches to a record.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace comptroller {

inline constexpr std::size_t metadata_maximum_pairs = 50;
inline constexpr std::size_t metadata_maximum_key_length = 64;     // code points, at least 1
inline constexpr std::size_t metadata_maximum_value_length = 512;  // code points

// Pairs in the order they came; equal when the same pairs are there in any order.
struct Metadata {
  std::vector<std::pair<std::string, std::string>> pairs;

  friend bool operator==(const Metadata& a, const Metadata& b);
};

// Why `metadata` is refused (a limit, bad text or a repeated key), as a phrase that can be shown;
// nothing when it is acceptable.
std::optional<std::string> refusal(const Metadata& metadata);

}  // namespace comptroller
