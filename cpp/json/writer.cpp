#include "json/writer.hpp"

#include <array>
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

bool is_plain(std::string_view text) {
  std::size_t position = 0;
  for (; position + 8 <= text.size(); position += 8) {
    std::uint64_t eight = 0;
    std::memcpy(&eight, text.data() + position, 8);
    if (needs_escape(eight)) return false;
  }
  for (; position < text.size(); ++position) {
    const auto byte = static_cast<unsigned char>(text[position]);
    if (byte < 0x20 || byte == '"' || byte == '\\') return false;
  }
  return true;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte == '"' || byte == '\\') {
      out += '\\';
      out += character;
    } else if (byte < 0x20) {
      out += "\\u00";
      out += hexadecimal[byte >> 4U];
      out += hexadecimal[byte & 0xFU];
    } else {
      out += character;
    }
  }
}

}  // namespace

void append_string(std::string& out, std::string_view text) {
  out += '"';
  if (is_plain(text)) {
    out += text;
  } else {
    append_escaped(out, text);
  }
  out += '"';
}

void append_timestamp(std::string& out, Timestamp timestamp) {
  std::array<char, timestamp_length + 2> quoted{};
  quoted.front() = '"';
  format_timestamp(timestamp, quoted.data() + 1);
  quoted.back() = '"';
  out.append(quoted.data(), quoted.size());
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
