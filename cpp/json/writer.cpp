#include "json/writer.hpp"

#include <algorithm>

#include "json/special.hpp"
#include "model/hexadecimal.hpp"

namespace comptroller::json {

namespace {

constexpr std::size_t usual_growth = 2048;
constexpr std::size_t longest_escape = 6;

char* write_escaped(char* at, std::string_view text) {
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte == '"' || byte == '\\') {
      *at++ = '\\';
      *at++ = character;
    } else if (byte < 0x20) {
      std::ranges::copy(std::string_view("\\u00"), at);
      write_hexadecimal(&character, 1, at + 4);
      at += 6;
    } else {
      *at++ = character;
    }
  }
  return at;
}

}  // namespace

void JsonWriter::write(std::string_view text) {
  char* at = room(longest_escape * text.size() + 2);
  *at++ = '"';
  std::size_t position = 0;
  for (; position + 8 <= text.size(); position += 8) {
    if (has_special(text.data() + position)) break;
    std::memcpy(at, text.data() + position, 8);
    at += 8;
  }
  at = write_escaped(at, text.substr(position));
  *at++ = '"';
  at_ = at;
}

void JsonWriter::grow(std::size_t most) {
  const auto used = static_cast<std::size_t>(at_ - out_.data());
  out_.resize(used + std::max(most, usual_growth));
  at_ = out_.data() + used;
  end_ = out_.data() + out_.size();
}

}  // namespace comptroller::json
