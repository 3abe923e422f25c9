// Texts of values are read exactly, or refused.
#include <algorithm>
#include <cstdint>
#include <vector>

#include "files/csv.hpp"
#include "fuzz/targets.hpp"
#include "model/amount.hpp"
#include "model/ascii.hpp"
#include "model/enums.hpp"
#include "model/ledger_address.hpp"
#include "model/timestamp.hpp"

namespace comptroller::fuzz {

namespace {

// The digits of an amount, with all 18 fraction digits and without leading zeros; empty for a text
// that is none. Reads the text as the specification defines it, digit by digit.
std::string digits_of(std::string_view text) {
  const bool is_negative = text.starts_with('-');
  if (is_negative) text.remove_prefix(1);
  const std::size_t dot = std::min(text.find('.'), text.size());
  const std::string_view whole = text.substr(0, dot);
  const std::string_view fraction =
      dot < text.size() ? text.substr(dot + 1) : std::string_view("0");
  if (whole.empty() || whole.size() > amount_integer_digits || fraction.empty() ||
      fraction.size() > amount_fraction_digits || !std::ranges::all_of(whole, is_digit) ||
      !std::ranges::all_of(fraction, is_digit)) {
    return {};
  }
  std::string digits(whole);
  digits.append(fraction).append(amount_fraction_digits - fraction.size(), '0');
  digits.erase(0, std::min(digits.find_first_not_of('0'), digits.size() - 1));
  return (is_negative && digits != "0" ? "-" : "") + digits;
}

std::string text_of(Int128 value) {
  std::string digits;
  const bool is_negative = value < 0;
  do {
    const int digit = static_cast<int>(value % 10);
    digits += static_cast<char>('0' + (digit < 0 ? -digit : digit));
    value /= 10;
  } while (value != 0);
  if (is_negative) digits += '-';
  std::ranges::reverse(digits);
  return digits;
}

// Reads rows of CSV as RFC 4180 defines them.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells(1);
  for (std::size_t at = 0; at < line.size(); ++at) {
    if (line[at] == ',') {
      cells.emplace_back();
      continue;
    }
    if (line[at] != '"') {
      cells.back() += line[at];
      continue;
    }
    for (++at; at < line.size(); ++at) {
      if (line[at] == '"') {
        if (at + 1 == line.size() || line[at + 1] != '"') break;
        ++at;
      }
      cells.back() += line[at];
    }
  }
  return cells;
}

}  // namespace

void amount(std::string_view input) {
  const auto value = read_amount(input);
  const std::string expected = digits_of(input);
  require(value.has_value() == !expected.empty(), "accepts an amount that is none, or refuses one");
  if (!value) return;
  require(text_of(*value) == expected, "reads another value");
  const std::string shortest = format_scaled(*value);
  require(read_amount(shortest) == value, "writes another value");
  require(same_value(input, shortest), "equal amounts differ");
  const std::string next = format_scaled(*value + 1);
  if (read_amount(next)) require(!same_value(input, next), "different amounts are equal");
  const auto exact = exact_number(input);
  require(!exact || *exact == input, "changes the digits of a number");
}

void timestamp(std::string_view input) {
  const auto time = Timestamp::parse(input);
  const auto loaded = Timestamp::parse_loaded(input);
  require(!time || time == loaded, "a load reads another time");
  if (!loaded) return;
  require(*loaded >= earliest_timestamp && *loaded <= latest_timestamp, "a time out of range");
  const std::string text = to_string(*loaded);
  require(text.size() == timestamp_length && Timestamp::parse(text) == loaded,
          "writes another time");
}

void address(std::string_view input) {
  if (input.empty()) return;
  const auto count = enum_texts<Ledger>.size();
  const auto ledger = static_cast<Ledger>(static_cast<unsigned char>(input.front()) % count);
  input.remove_prefix(1);
  const auto canonical = canonical_address(ledger, input);
  if (!canonical) return;
  require(canonical_address(ledger, *canonical) == canonical, "the stored form is no stored form");
  require(sought_address(ledger, input) == *canonical, "a filter does not find the address");
  require(canonical->size() == input.size(), "the stored form has another length");
  require(folded_address(*canonical) == folded_address(input), "equal addresses are not compared");
}

void csv(std::string_view input) {
  // The cells are separated by zeros.
  std::vector<std::string> cells;
  std::string line;
  while (true) {
    const std::string_view cell = input.substr(0, input.find('\0'));
    cells.emplace_back(cell);
    if (!line.empty() || cells.size() > 1) line += ',';
    files::append_cell(line, cell);
    if (cell.size() == input.size()) break;
    input.remove_prefix(cell.size() + 1);
  }
  const std::vector<std::string> read = cells_of(line);
  require(read.size() == cells.size(), "another number of cells");
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const bool is_escaped = files::begins_formula(cells[i]);
    require(read[i] == (is_escaped ? "'" : "") + cells[i], "another cell");
    const std::size_t first = read[i].find_first_not_of(' ');
    require(first == std::string::npos ||
                std::string_view("=+-@").find(read[i][first]) == std::string_view::npos,
            "a cell that a spreadsheet executes");
  }
}

}  // namespace comptroller::fuzz
