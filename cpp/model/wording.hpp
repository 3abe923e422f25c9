// How error messages quote names and texts that a caller sent, and suggest corrections.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace comptroller {

// Returns the text, or at most its first 80 bytes, cut between characters, and "...".
std::string shorten(std::string_view text);

// Returns "A, B, C".
std::string comma_separated(std::span<const std::string_view> names);

// Returns "is not known; did you mean created_at?", or lists all known names if none is similar.
std::string unknown_name_message(std::string_view name, std::span<const std::string_view> known);

}  // namespace comptroller
