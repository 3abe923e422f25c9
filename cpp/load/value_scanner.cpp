#include "load/value_scanner.hpp"

#include <algorithm>
#include <array>

#include "json/special.hpp"

namespace comptroller::load {

namespace {

using ByteSet = std::array<bool, 256>;

constexpr ByteSet bytes_of(std::string_view text) {
  ByteSet set{};
  for (const char character : text) set[static_cast<unsigned char>(character)] = true;
  return set;
}

constexpr ByteSet structural = bytes_of("\"{}[]\n");
constexpr ByteSet ends_bare = bytes_of(" \t\r\n,:\"{}[]");

std::size_t find(const ByteSet& set, std::string_view text, std::size_t at) {
  while (at < text.size() && !set[static_cast<unsigned char>(text[at])]) ++at;
  return at;
}

}  // namespace

void ValueScanner::begin(char first) {
  *this = {};
  is_bare_ = !structural[static_cast<unsigned char>(first)];
}

ValueScanner::State ValueScanner::scan(std::string_view text, std::size_t& at,
                                       std::uint64_t& line) {
  if (is_bare_) {
    at = find(ends_bare, text, at);
    return at < text.size() ? State::ended : State::inside;
  }
  do {
    if (is_in_string_) {
      scan_string(text, at);
    } else {
      at = find(structural, text, at);
    }
    if (at == text.size()) return State::inside;
    const char character = text[at];
    if (character == '"') {
      is_in_string_ = !is_in_string_;
    } else if (character == '\n') {
      if (is_in_string_) return State::unclosed_string;
      ++line;
    } else if (!match(character)) {
      return State::wrong_bracket;
    }
    ++at;
  } while (depth_ > 0 || is_in_string_);
  return State::ended;
}

// Moves `at` to the closing quote, or to a line end before it.
void ValueScanner::scan_string(std::string_view text, std::size_t& at) {
  while (at < text.size()) {
    while (!is_escaped_ && text.size() - at >= 8 && !json::has_special(text.data() + at)) at += 8;
    for (const std::size_t stop = std::min(at + 8, text.size()); at < stop; ++at) {
      if (text[at] == '\n' || (text[at] == '"' && !is_escaped_)) return;
      is_escaped_ = text[at] == '\\' && !is_escaped_;
    }
  }
}

// Opens or closes; false if it closes a bracket that is known to be of the other kind.
bool ValueScanner::match(char bracket) {
  const bool is_opening = bracket == '[' || bracket == '{';
  if (!is_opening) --depth_;
  const std::uint64_t level = depth_ < 64 ? std::uint64_t{1} << depth_ : 0;
  const std::uint64_t array = bracket == '[' || bracket == ']' ? level : 0;
  if (!is_opening) return (arrays_ & level) == array;
  arrays_ = (arrays_ & ~level) | array;
  ++depth_;
  return true;
}

}  // namespace comptroller::load
