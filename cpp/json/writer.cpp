#include "json/writer.hpp"

#include <algorithm>

#include "json/special.hpp"

namespace comptroller::json {

namespace {

constexpr std::size_t usual_growth = 2048;
constexpr std::size_t max_escape_size = 6;

char* write_escaped(char* at, std::string_view text) {
  constexpr std::string_view escaped = "\"\\\b\t\n\f\r";
  constexpr std::string_view escapes = "\"\\btnfr";
  constexpr std::string_view digits = "0123456789ABCDEF";
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte >= 0x20 && byte != '"' && byte != '\\') {
      *at++ = character;
    } else if (const std::size_t place = escaped.find(character); place != std::string_view::npos) {
      *at++ = '\\';
      *at++ = escapes[place];
    } else {
      for (const char c : {'\\', 'u', '0', '0', digits[byte >> 4U], digits[byte & 0xFU]}) *at++ = c;
    }
  }
  return at;
}

}  // namespace

void JsonWriter::write(std::string_view text) {
  char* at = room(max_escape_size * text.size() + 2);
  *at++ = '"';
  std::string_view rest = text;
  for (; rest.size() >= 8 && !has_special(rest.data()); rest.remove_prefix(8)) {
    std::memcpy(at, rest.data(), 8);
    at += 8;
  }
  // The last eight bytes overlap those that are written.
  const bool is_long = text.size() >= 8;
  if (rest.size() < 8 && is_long && !has_special(rest.data() + rest.size() - 8)) {
    std::memcpy(at + rest.size() - 8, rest.data() + rest.size() - 8, 8);
    at += rest.size();
  } else {
    at = write_escaped(at, rest);
  }
  *at++ = '"';
  at_ = at;
}

void JsonWriter::grow(std::size_t most) {
  const std::size_t used = size();
  out_.resize(used + std::max(most, usual_growth));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

}  // namespace comptroller::json
