// Finds the end of a JSON value without holding it: brackets outside strings are matched,
// everything else is for the reader of the value to validate.
#pragma once

#include "load/bytes.hpp"

namespace comptroller::load {

enum class Ending : std::uint8_t {
  whole,
  cut_off,          // the file ends inside it
  wrong_bracket,    // a bracket closes one of the other kind
  unclosed_string,  // a string goes over the end of its line
};

// Passes a value that begins at the next byte, up to a fault at the next byte if there is one, and
// counts the line ends in it.
Ending pass_value(Bytes& bytes, std::uint64_t& line);

// Space, tab, line feed, carriage return.
constexpr bool is_white_space(char character) {
  return character == ' ' || character == '\t' || character == '\n' || character == '\r';
}

}  // namespace comptroller::load
