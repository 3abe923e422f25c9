// Lines of a signed text, each of which ends with a newline.
#pragma once

#include <optional>
#include <string_view>

namespace comptroller::journal {

// Removes the first line of `text` and returns it without its newline; nullopt if no line is
// complete.
inline std::optional<std::string_view> take_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end + 1);
  return line;
}

}  // namespace comptroller::journal
