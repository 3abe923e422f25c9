// Finds the end of a JSON value without holding it: brackets outside strings are matched,
// everything else is for the reader of the value to validate.
#pragma once

#include <cstdint>

namespace comptroller::load {

class ValueScan {
 public:
  enum class State : std::uint8_t {
    unfinished,
    finished,
    wrong_bracket,    // a bracket closes one of the other kind
    unclosed_string,  // a string goes over the end of its line
  };

  // Begins at the value's first byte, which is still to be scanned.
  explicit ValueScan(char first = '0');

  // Scans on to the end of the value, a fault or `end`; gives how far it came. A finished value
  // ends there; a fault is there.
  const char* scan(const char* at, const char* end);

  State state() const { return state_; }
  // The line ends met since this was last asked.
  std::uint64_t take_newlines();

 private:
  const char* scan_string(const char* at, const char* end);
  const char* scan_brackets(const char* at, const char* end);
  void open(bool is_array);
  void close(bool is_array);

  State state_ = State::unfinished;
  bool is_bare_;  // a number or a word
  bool is_in_string_ = false;
  bool is_escaped_ = false;  // the next byte follows a backslash
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ = 0;  // which of the outermost 64 levels are arrays, a bit each
  std::uint64_t newlines_ = 0;
};

// Space, tab, line feed, carriage return.
constexpr bool is_white_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

}  // namespace comptroller::load
