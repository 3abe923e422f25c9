// Base64 with padding (RFC 4648, section 4), as signed notes use it.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace comptroller::journal {

std::string to_base64(std::string_view bytes);
// Returns nullopt for a text that to_base64 does not return.
std::optional<std::string> from_base64(std::string_view text);

}  // namespace comptroller::journal
