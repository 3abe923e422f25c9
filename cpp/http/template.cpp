#include "http/template.hpp"

#include <stdexcept>

namespace comptroller::http {

Template::Template(std::string_view text) {
  while (true) {
    const std::size_t mark = text.find('\0');
    if (mark == std::string_view::npos) break;
    const std::string_view letter = text.substr(mark + 1, 1);
    const std::size_t slot = letters_of_slots.find(letter);
    if (letter.empty() || slot == std::string_view::npos) {
      throw std::invalid_argument("template: a NUL must be followed by the letter of a slot");
    }
    parts_.push_back({std::string(text.substr(0, mark)), slot});
    text.remove_prefix(mark + 2);
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
