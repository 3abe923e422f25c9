// Writes cells of CSV (RFC 4180).
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace comptroller::files {

// Whether a cell gets an apostrophe in front: a spreadsheet would evaluate it as a formula (it may
// trim the cell first), or it would be read as a cell that has got one.
inline bool begins_formula(std::string_view text) {
  const std::size_t quotes = text.find_first_not_of('\'');
  if (quotes == std::string_view::npos) return !text.empty();
  text.remove_prefix(quotes);
  const std::size_t first = text.find_first_not_of(' ');
  constexpr std::string_view beginnings = "=+-@\t\r";
  return first != std::string_view::npos && beginnings.find(text[first]) != std::string_view::npos;
}

inline bool needs_quotes(std::string_view text) {
  static constexpr auto is_special = [] {
    std::array<bool, 256> set{};
    for (const char special : {',', '"', '\r', '\n'}) {
      set[static_cast<unsigned char>(special)] = true;
    }
    return set;
  }();
  bool found = false;  // no branch for each character
  for (const char character : text) found |= is_special[static_cast<unsigned char>(character)];
  return found;
}

// Appends a cell in quotes.
inline void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    out += text.substr(at, quote - at);
    if (quote < text.size()) out += "\"\"";
    at = quote + 1;
  }
  out += '"';
}

// Appends a cell, in quotes if necessary. If `may_be_formula`, a cell that begins like a formula
// gets an apostrophe in front.
inline void append_cell(std::string& out, std::string_view text, bool may_be_formula = true) {
  const bool is_formula = may_be_formula && begins_formula(text);
  if (!needs_quotes(text)) {
    if (is_formula) out += '\'';
    out += text;
    return;
  }
  const std::size_t begin = out.size();
  append_quoted(out, text);
  if (is_formula) out.insert(begin + 1, 1, '\'');
}

}  // namespace comptroller::files
