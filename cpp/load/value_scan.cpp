#include "load/value_scan.hpp"

#include <array>
#include <string_view>
#include <utility>

#include "json/special.hpp"

namespace comptroller::load {

namespace {

using Bytes = std::array<bool, 256>;

constexpr Bytes bytes_of(std::string_view text) {
  Bytes bytes{};
  for (const char character : text) bytes[static_cast<unsigned char>(character)] = true;
  return bytes;
}

constexpr Bytes structural = bytes_of("\"{}[]\n");
constexpr Bytes ends_bare = bytes_of(" \t\r\n,:\"{}[]");

const char* skip_until(const Bytes& wanted, const char* at, const char* end) {
  while (at < end && !wanted[static_cast<unsigned char>(*at)]) ++at;
  return at;
}

constexpr std::uint64_t remembered_levels = 64;

}  // namespace

ValueScan::ValueScan(char first) : is_bare_(first != '{' && first != '[' && first != '"') {}

const char* ValueScan::scan(const char* at, const char* end) {
  if (is_bare_) {
    at = skip_until(ends_bare, at, end);
    if (at < end) state_ = State::finished;
    return at;
  }
  while (at < end && state_ == State::unfinished) {
    at = is_in_string_ ? scan_string(at, end) : scan_brackets(at, end);
  }
  return at;
}

const char* ValueScan::scan_string(const char* at, const char* end) {
  while (at < end) {
    if (!is_escaped_) {
      while (end - at >= 8 && !json::has_special(at)) at += 8;
    }
    for (const char* stop = end - at > 8 ? at + 8 : end; at < stop; ++at) {
      if (*at == '\n') {
        state_ = State::unclosed_string;
        return at;
      }
      if (is_escaped_) {
        is_escaped_ = false;
      } else if (*at == '\\') {
        is_escaped_ = true;
      } else if (*at == '"') {
        is_in_string_ = false;
        if (depth_ == 0) state_ = State::finished;
        return at + 1;
      }
    }
  }
  return at;
}

const char* ValueScan::scan_brackets(const char* at, const char* end) {
  while ((at = skip_until(structural, at, end)) < end) {
    switch (*at) {
      case '"':
        is_in_string_ = true;
        return at + 1;
      case '\n':
        ++newlines_;
        break;
      case '{':
      case '[':
        open(*at == '[');
        break;
      default:
        close(*at == ']');
        if (state_ == State::wrong_bracket) return at;
        if (state_ == State::finished) return at + 1;
    }
    ++at;
  }
  return at;
}

void ValueScan::open(bool is_array) {
  if (depth_ < remembered_levels) {
    const std::uint64_t level = std::uint64_t{1} << depth_;
    arrays_ = is_array ? arrays_ | level : arrays_ & ~level;
  }
  ++depth_;
}

void ValueScan::close(bool is_array) {
  --depth_;
  if (depth_ < remembered_levels && (((arrays_ >> depth_) & 1U) != 0) != is_array) {
    state_ = State::wrong_bracket;
  } else if (depth_ == 0) {
    state_ = State::finished;
  }
}

std::uint64_t ValueScan::take_newlines() {
  return std::exchange(newlines_, 0);
}

}  // namespace comptroller::load
