#include "http/template.hpp"

#include <algorithm>
#include <stdexcept>

namespace comptroller::http {

Template::Template(std::string_view text) {
  for (std::size_t mark = 0; (mark = text.find('\0')) != std::string_view::npos;) {
    const std::size_t end = text.find('\0', mark + 1);
    const auto name = std::ranges::find(slot_names, text.substr(mark + 1, end - mark - 1));
    if (end == std::string_view::npos || name == slot_names.end()) {
      throw std::invalid_argument("template: a NUL must begin the name of a slot and a second NUL");
    }
    parts_.push_back({std::string(text.substr(0, mark)), name - slot_names.begin()});
    text.remove_prefix(end + 1);
  }
  parts_.push_back({std::string(text), std::nullopt});
}

void Template::append(std::string& out, const Values& values) const {
  for (const Part& part : parts_) {
    out += part.text;
    if (part.slot) out += values[*part.slot];
  }
}

}  // namespace comptroller::http
