#include "json/writer.hpp"

#include <algorithm>
#include <cstring>

#include "json/special.hpp"
#include "model/hexadecimal.hpp"

namespace comptroller::json {

namespace {

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

char* write_string(char* at, std::string_view text) {
  *at++ = '"';
  std::size_t position = 0;
  for (; position + 8 <= text.size(); position += 8) {
    if (has_special(text.data() + position)) break;
    std::memcpy(at, text.data() + position, 8);
    at += 8;
  }
  at = write_escaped(at, text.substr(position));
  *at++ = '"';
  return at;
}

void append_string(std::string& out, std::string_view text) {
  const std::size_t begin = out.size();
  out.resize(begin + most_written(text));
  const char* end = write_string(out.data() + begin, text);
  out.resize(static_cast<std::size_t>(end - out.data()));
}

void append_timestamp(std::string& out, Timestamp timestamp) {
  const std::size_t begin = out.size();
  out.resize(begin + timestamp_length + 2);
  write_timestamp(out.data() + begin, timestamp);
}

}  // namespace comptroller::json
