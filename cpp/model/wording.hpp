// How error messages quote and correct the names and texts that a caller sent.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace comptroller {

// The text, or at most its first 80 bytes, cut between characters, and "...".
std::string shorten(std::string_view text);

// "A, B, C".
std::string comma_separated(std::span<const std::string_view> names);

// "is not known; did you mean created_at?", or all known names if none is near.
std::string unknown_name_message(std::string_view name, std::span<const std::string_view> known);

}  // namespace comptroller
