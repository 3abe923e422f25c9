// How refusals repeat and correct what a caller sent.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace comptroller {

// The text, or its first 80 bytes at most, cut between characters, and "..." behind them: what a
// caller sent, as a message may repeat it, never at length.
std::string shorten(std::string_view text);

// The known name with the fewest edits to `name`; empty when none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// "is not known; did you mean created_at?", or all known names where none is near.
std::string unknown_name_message(std::string_view name, std::span<const std::string_view> known);

}  // namespace comptroller
