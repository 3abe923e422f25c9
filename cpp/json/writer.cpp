#include "json/writer.hpp"

#include <algorithm>
#include <cstring>

namespace comptroller::json {

namespace {

constexpr std::string_view hexadecimal = "0123456789abcdef";

// Whether any of eight bytes is a quote, a backslash or a control character.
bool needs_escape(std::uint64_t eight) {
  constexpr std::uint64_t ones = 0x0101010101010101U;
  constexpr std::uint64_t highs = 0x8080808080808080U;
  const std::uint64_t quote = eight ^ (ones * '"');
  const std::uint64_t backslash = eight ^ (ones * '\\');
  const std::uint64_t control = eight - ones * 0x20;
  return (((quote - ones) & ~quote) | ((backslash - ones) & ~backslash) | (control & ~eight)) &
         highs;
}

char* write_escaped(char* at, std::string_view text) {
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte == '"' || byte == '\\') {
      *at++ = '\\';
      *at++ = character;
    } else if (byte < 0x20) {
      std::ranges::copy(std::string_view("\\u00"), at);
      at[4] = hexadecimal[byte >> 4U];
      at[5] = hexadecimal[byte & 0xFU];
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
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + position, 8);
    if (needs_escape(eight)) break;
    std::memcpy(at, &eight, 8);
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

void append_metadata(std::string& out, const Metadata& metadata) {
  out += '{';
  for (const auto& [key, value] : metadata.pairs) {
    if (out.back() != '{') out += ',';
    append_string(out, key);
    out += ':';
    append_string(out, value);
  }
  out += '}';
}

}  // namespace comptroller::json
