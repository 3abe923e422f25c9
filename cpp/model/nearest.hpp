// The nearest known name, so that a refusal of a misspelt one can suggest it.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace comptroller {

// The known name with the fewest edits to `name`; empty when none is near.
std::string_view nearest_name(std::string_view name, std::span<const std::string_view> known);

// "is not known; did you mean created_at?", or all known names where none is near.
std::string unknown_name_message(std::string_view name, std::span<const std::string_view> known);

}  // namespace comptroller
