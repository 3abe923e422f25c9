// Finds the end of a JSON value by its structure alone: brackets and strings are matched,
// everything else is left to the parser of the value.
#pragma once

#include <cstdint>
#include <string_view>

namespace comptroller::load {

// Reads text that may arrive in pieces; needs constant memory, whatever the size of the value.
class ValueScanner {
 public:
  // Inside: the text ends before the value does. Wrong bracket: one closes a bracket of the other
  // kind. Unclosed string: a line ends inside a string.
  enum class State : std::uint8_t { inside, ended, wrong_bracket, unclosed_string };

  // Starts a value whose first byte, not yet read, is neither white space nor one of , : ] }
  void begin(char first);
  // Reads on from text[at]. Moves `at` behind the value, to the faulty byte, or to the end of the
  // text, and adds the line ends that it passes to `line`.
  State scan(std::string_view text, std::size_t& at, std::uint64_t& line);

 private:
  void scan_string(std::string_view text, std::size_t& at);
  bool match(char bracket);

  bool is_bare_ = false;  // a number or a word
  bool is_in_string_ = false;
  bool is_escaped_ = false;  // the next byte of the string
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ = 0;  // which of the outermost 64 open brackets are arrays, a bit each
};

}  // namespace comptroller::load
