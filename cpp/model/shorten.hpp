// What a caller sent, as a message may repeat it: never at length.
#pragma once

#include <string>
#include <string_view>

namespace comptroller {

inline constexpr std::size_t longest_repeated = 80;

// The text, or its first 80 bytes at most, cut between characters, and "..." behind them.
std::string shorten(std::string_view text);

}  // namespace comptroller
