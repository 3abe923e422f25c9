#include "load/value.hpp"

#include <algorithm>
#include <array>

#include "json/special.hpp"

namespace comptroller::load {

namespace {

using Set = std::array<bool, 256>;

constexpr Set bytes_of(std::string_view text) {
  Set set{};
  for (const char character : text) set[static_cast<unsigned char>(character)] = true;
  return set;
}

constexpr Set structural = bytes_of("\"{}[]\n");
constexpr Set ends_bare = bytes_of(" \t\r\n,:\"{}[]");

// Whether one of the set is met before the file ends; it is the next byte then.
bool pass_until(const Set& set, Bytes& bytes) {
  while (bytes.more()) {
    const std::string_view rest = bytes.rest();
    std::size_t at = 0;
    while (at < rest.size() && !set[static_cast<unsigned char>(rest[at])]) ++at;
    bytes.pass(at);
    if (at < rest.size()) return true;
  }
  return false;
}

// From behind the opening quote to behind the closing one.
Ending pass_string(Bytes& bytes) {
  bool is_escaped = false;
  while (bytes.more()) {
    const std::string_view rest = bytes.rest();
    std::size_t at = 0;
    while (at < rest.size()) {
      while (!is_escaped && rest.size() - at >= 8 && !json::has_special(rest.data() + at)) at += 8;
      for (const std::size_t stop = std::min(at + 8, rest.size()); at < stop; ++at) {
        if (rest[at] == '\n' || (rest[at] == '"' && !is_escaped)) {
          const bool is_closed = rest[at] == '"';
          bytes.pass(is_closed ? at + 1 : at);
          return is_closed ? Ending::whole : Ending::unclosed_string;
        }
        is_escaped = rest[at] == '\\' && !is_escaped;
      }
    }
    bytes.pass(at);
  }
  return Ending::cut_off;
}

// Brackets that are open; of the outermost 64 it is known which are arrays, a bit each.
class Brackets {
 public:
  bool is_any_open() const { return depth_ > 0; }

  void open(bool is_array) {
    if (depth_ < remembered) {
      const std::uint64_t level = std::uint64_t{1} << depth_;
      arrays_ = is_array ? arrays_ | level : arrays_ & ~level;
    }
    ++depth_;
  }
  // Whether that closes one of its kind.
  bool close(bool is_array) {
    --depth_;
    return depth_ >= remembered || (((arrays_ >> depth_) & 1U) != 0) == is_array;
  }

 private:
  static constexpr std::uint64_t remembered = 64;
  std::uint64_t depth_ = 0;
  std::uint64_t arrays_ = 0;
};

}  // namespace

Ending pass_value(Bytes& bytes, std::uint64_t& line) {
  if (!structural[static_cast<unsigned char>(bytes.rest().front())]) {  // a number or a word
    return pass_until(ends_bare, bytes) ? Ending::whole : Ending::cut_off;
  }
  Brackets brackets;
  while (pass_until(structural, bytes)) {
    const char character = bytes.rest().front();
    const bool is_array = character == '[' || character == ']';
    if (character == ']' || character == '}') {
      if (!brackets.close(is_array)) return Ending::wrong_bracket;
    } else if (character == '\n') {
      ++line;
    } else if (character != '"') {
      brackets.open(is_array);
    }
    bytes.pass(1);
    if (character == '"') {
      const Ending ending = pass_string(bytes);
      if (ending != Ending::whole) return ending;
    }
    if (!brackets.is_any_open()) return Ending::whole;
  }
  return Ending::cut_off;
}

}  // namespace comptroller::load
