// JSON values on one line.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace comptroller::json {

// Returns a JSON array or object without white space between its values; nullopt for a text that is
// not JSON. Several threads may call it.
std::optional<std::string> minified(std::string_view text);

}  // namespace comptroller::json
