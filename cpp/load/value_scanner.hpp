// Finds the end of a JSON value by its structure alone: brackets and strings are matched,
// everything else is left to the parser of the value.
#pragma once

#include <cstdint>
#include <string_view>

namespace comptroller::load {

// Reads text that may arrive in pieces; needs constant memory, whatever the size of the value.
class ValueScanner {
 public:
  enum class State : std::uint8_t {
    inside,  // the text ends before the value does
    ended,
    wrong_bracket,    // a bracket closes one of the other kind
    unclosed_string,  // a line ends inside a string
  };

  // Starts a value whose first byte, not yet read, is neither white space nor one of , : ] }
  void begin(char first);
  // Reads on from text[at]. Moves `at` behind the value, to the faulty byte, or to the end of the
  // text, and adds the line ends that it passes to `line`.
  State scan(std::string_view text, std::size_t& at, std::uint64_t& line);

 private:
  void scan_string(std::string_view text, std::size_t& at);
  void open(bool is_array);
  bool close(bool is_array);

  static constexpr std::uint64_t deepest_known = 64;
  bool is_bare_ = false;  // a number or a word
  bool is_in_string_ = false;
  bool is_escaped_ = false;  // the next byte of the string
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ = 0;  // which of the outermost open brackets are arrays, a bit each
};

}  // namespace comptroller::load
