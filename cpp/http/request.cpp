#include "http/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <utility>

namespace comptroller::http {

namespace {

// All limits are below those of the full parser.
constexpr std::size_t max_headers = 32;
constexpr std::size_t max_head_size = 8 << 10;
constexpr std::size_t max_length_digits = 6;  // digits of Content-Length

// The characters that one part of a request may have.
class Characters {
 public:
  constexpr Characters(std::string_view others, bool has_alphanumeric) {
    for (const char character : others) set(character);
    if (!has_alphanumeric) return;
    for (char character = '0'; character <= '9'; ++character) set(character);
    for (char character = 'a'; character <= 'z'; ++character) set(character);
    for (char character = 'A'; character <= 'Z'; ++character) set(character);
  }
  // Returns the length of the longest prefix of `text` that consists of these characters.
  std::size_t span(std::string_view text) const {
    const auto* end = std::ranges::find_if_not(
        text, [&](char each) { return table_[static_cast<unsigned char>(each)]; });
    return static_cast<std::size_t>(end - text.begin());
  }
  bool hold(std::string_view text) const { return span(text) == text.size(); }

 private:
  constexpr void set(char character) { table_[static_cast<unsigned char>(character)] = true; }

  std::array<bool, 256> table_{};
};

constexpr Characters of_path("/-._~:@", true);
constexpr Characters of_query("-._~:@/?&=,", true);
constexpr Characters of_name("-", true);  // fewer than RFC 9110 allows
constexpr Characters of_value(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", true);
constexpr Characters of_token("-._~+/", true);  // RFC 6750, section 2.1

// Removes the prefix `text` from `rest`; returns false if `rest` has another prefix.
bool take(std::string_view& rest, std::string_view text) {
  if (!rest.starts_with(text)) return false;
  rest.remove_prefix(text.size());
  return true;
}

std::string_view take(std::string_view& rest, const Characters& characters) {
  const std::string_view taken = rest.substr(0, characters.span(rest));
  rest.remove_prefix(taken.size());
  return taken;
}

bool are_equal(std::string_view name, std::string_view lower_case) {
  return std::ranges::equal(name, lower_case, [](char character, char lower) {
    return (character >= 'A' && character <= 'Z' ? character + ('a' - 'A') : character) == lower;
  });
}

enum class Header : std::uint8_t {
  host,
  authorization,
  content_type,
  content_length,
  idempotency_key,
  accept_encoding,
  connection,
  excluded,  // left to a full parser
  ignored,
};

Header header_of(std::string_view name) {
  constexpr auto known = std::to_array<std::pair<std::string_view, Header>>({
      {"host", Header::host},
      {"authorization", Header::authorization},
      {"content-type", Header::content_type},
      {"content-length", Header::content_length},
      {"idempotency-key", Header::idempotency_key},
      {"accept-encoding", Header::accept_encoding},
      {"connection", Header::connection},
      {"content-encoding", Header::excluded},
      {"transfer-encoding", Header::excluded},
      {"expect", Header::excluded},
      {"upgrade", Header::excluded},
      {"te", Header::excluded},
      {"trailer", Header::excluded},
      {"keep-alive", Header::excluded},
      {"proxy-connection", Header::excluded},
      {"x-http-method-override", Header::excluded},
      {"x-request-id", Header::excluded},
  });
  const auto found =
      std::ranges::find_if(known, [&](const auto& each) { return are_equal(name, each.first); });
  return found == known.end() ? Header::ignored : found->second;
}

bool read_request_line(std::string_view& rest, Request& request) {
  for (const std::string_view method : {"GET", "POST", "PUT", "DELETE"}) {
    if (!rest.starts_with(method)) continue;
    request.method = method;
    rest.remove_prefix(method.size());
    break;
  }
  if (request.method.empty() || !take(rest, " ") || !rest.starts_with('/')) return false;
  request.path = take(rest, of_path);
  if (take(rest, "?")) request.query = take(rest, of_query);
  return take(rest, " HTTP/1.1\r\n");
}

bool read_bearer(std::string_view value, Request& request) {
  if (!take(value, "Bearer ")) return false;
  request.token = value;
  std::string_view padding = value.substr(of_token.span(value));
  return padding.size() < value.size() && padding.find_first_not_of('=') == std::string_view::npos;
}

// The headers that describe the body.
struct Framing {
  bool is_json = false;
  std::optional<std::size_t> length;
};

bool read_length(std::string_view value, Framing& framing) {
  std::size_t length = 0;
  const auto [end, failure] = std::from_chars(value.begin(), value.end(), length);
  framing.length = length;
  return value.size() <= max_length_digits && failure == std::errc() && end == value.end();
}

bool read_header(Header header, std::string_view value, Request& request, Framing& framing) {
  switch (header) {
    case Header::host:
      return true;
    case Header::authorization:
      return read_bearer(value, request);
    case Header::content_type:
      framing.is_json = true;
      return value == "application/json";
    case Header::content_length:
      return read_length(value, framing);
    case Header::idempotency_key:
      request.idempotency_key = value;
      return true;
    case Header::accept_encoding:
      request.has_accept_encoding = true;
      return true;
    case Header::connection:
      return are_equal(value, "keep-alive");
    case Header::excluded:
      return false;
    case Header::ignored:
      return true;
  }
  return false;
}

// Reads the headers and the empty line after them.
bool read_headers(std::string_view& rest, Request& request, Framing& framing) {
  std::array<bool, static_cast<std::size_t>(Header::ignored)> seen{};
  for (std::size_t count = 0; !take(rest, "\r\n"); ++count) {
    const std::string_view name = take(rest, of_name);
    if (count == max_headers || name.empty() || !take(rest, ":")) return false;
    take(rest, " ");
    const std::string_view value = take(rest, of_value);
    if (value.empty() || value.front() == ' ' || value.back() == ' ') return false;
    if (!take(rest, "\r\n")) return false;
    const Header header = header_of(name);
    if (header == Header::ignored) continue;
    if (std::exchange(seen[static_cast<std::size_t>(header)], true)) return false;
    if (!read_header(header, value, request, framing)) return false;
  }
  return seen[static_cast<std::size_t>(Header::host)] && !request.token.empty();
}

}  // namespace

std::optional<Request> read_request(std::string_view bytes) {
  Request request;
  Framing framing;
  std::string_view rest = bytes;
  if (!read_request_line(rest, request) || !read_headers(rest, request, framing)) {
    return std::nullopt;
  }
  if (bytes.size() - rest.size() > max_head_size) return std::nullopt;
  const bool is_read = request.method == "GET";
  if (is_read && (framing.length || framing.is_json || request.idempotency_key)) {
    return std::nullopt;
  }
  if (rest.size() != framing.length.value_or(0)) return std::nullopt;
  if (!rest.empty() && !framing.is_json) return std::nullopt;
  request.body = rest;
  return request;
}

}  // namespace comptroller::http
