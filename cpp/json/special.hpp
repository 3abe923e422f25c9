// Finds bytes that a JSON string must escape.
#pragma once

#include <cstdint>
#include <cstring>

namespace comptroller::json {

// Whether any of eight bytes is a quote, a backslash or a control character.
inline bool has_special(const char* eight_bytes) {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t highs = 0x8080808080808080U;
  std::uint64_t eight = 0;
  std::memcpy(&eight, eight_bytes, 8);
  const std::uint64_t quote = eight ^ (ones * '"');
  const std::uint64_t backslash = eight ^ (ones * '\\');
  const std::uint64_t control = eight - ones * 0x20;
  return ((((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | (control & ~eight)) &
          highs) != 0;
}

}  // namespace comptroller::json
