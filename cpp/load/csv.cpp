#include "load/csv.hpp"

#include <algorithm>

namespace comptroller::load {

namespace {

constexpr std::string_view needs_quotes = ",\"\r\n";

// Spreadsheets may trim a cell before they look for a formula.
bool begins_formula(std::string_view text) {
  const std::size_t first = text.find_first_not_of(' ');
  constexpr std::string_view beginnings = "=+-@\t\r";
  return first != std::string_view::npos && beginnings.find(text[first]) != std::string_view::npos;
}

}  // namespace

void append_csv_quoted(std::string& out, std::string_view text) {
  out += '"';
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t quote = std::min(text.find('"', at), text.size());
    out += text.substr(at, quote - at);
    if (quote < text.size()) out += "\"\"";
    at = quote + 1;
  }
  out += '"';
}

void append_csv_text(std::string& out, std::string_view text) {
  const bool is_formula = begins_formula(text);
  const bool is_plain = !text.empty() && text.find_first_of(needs_quotes) == std::string_view::npos;
  if (is_plain) {
    if (is_formula) out += '\'';
    out += text;
    return;
  }
  const std::size_t begin = out.size();
  append_csv_quoted(out, text);
  if (is_formula) out.insert(begin + 1, 1, '\'');
}

void append_csv_cell(std::string& out, const PackedAddresses& addresses) {
  std::string list;
  json::JsonWriter(list).write(addresses);
  append_csv_quoted(out, list);
}

void end_csv_line(std::string& out) {
  out.back() = '\r';
  out += '\n';
}

}  // namespace comptroller::load
