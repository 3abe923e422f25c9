#include "http/request.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace comptroller::http {

namespace {

// All limits are below those of the full parser.
constexpr std::size_t max_headers = 32;
constexpr std::size_t max_head_size = 8 << 10;
constexpr std::size_t max_length_digits = 6;  // digits of Content-Length

// The characters that one part of a request may have: letters, digits and others.
class Characters {
 public:
  constexpr explicit Characters(std::string_view others) {
    for (const char character : others) set(character);
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

 private:
  constexpr void set(char character) { table_[static_cast<unsigned char>(character)] = true; }

  std::array<bool, 256> table_{};
};

constexpr Characters of_path("/-._~:@");
constexpr Characters of_query("-._~:@/?&=,");
constexpr Characters of_name("-");  // fewer than RFC 9110 allows
constexpr Characters of_value(" !\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~");
constexpr Characters of_token("-._~+/");  // RFC 6750, section 2.1

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

bool read_length(std::string_view value, Request& request) {
  std::size_t length = 0;
  const auto [end, failure] = std::from_chars(value.begin(), value.end(), length);
  request.content_length = length;
  return value.size() <= max_length_digits && failure == std::errc() && end == value.end();
}

// A header that may appear once. `read` returns whether the value is accepted.
struct Header {
  std::string_view name;                                             // in lower case
  bool (*read)(std::string_view value, Request& request) = nullptr;  // null: left to a full parser
};

constexpr auto known_headers = std::to_array<Header>({
    {"host", [](std::string_view, Request&) { return true; }},
    {"authorization", &read_bearer},
    {"content-type",
     [](std::string_view value, Request& request) {
       request.is_json = true;
       return value == "application/json";
     }},
    {"content-length", &read_length},
    {"idempotency-key",
     [](std::string_view value, Request& request) {
       request.idempotency_key = value;
       return true;
     }},
    {"accept-encoding",
     [](std::string_view, Request& request) { return request.has_accept_encoding = true; }},
    {"connection", [](std::string_view value, Request&) { return are_equal(value, "keep-alive"); }},
    {"content-encoding"},
    {"transfer-encoding"},
    {"expect"},
    {"upgrade"},
    {"te"},
    {"trailer"},
    {"keep-alive"},
    {"proxy-connection"},
    {"x-http-method-override"},
    {"x-request-id"},
});

// Reads the headers and the empty line after them.
bool read_headers(std::string_view& rest, Request& request) {
  std::array<bool, known_headers.size()> seen{};
  for (std::size_t count = 0; !take(rest, "\r\n"); ++count) {
    const std::string_view name = take(rest, of_name);
    if (count == max_headers || name.empty() || !take(rest, ":")) return false;
    take(rest, " ");
    const std::string_view value = take(rest, of_value);
    if (value.empty() || value.front() == ' ' || value.back() == ' ') return false;
    if (!take(rest, "\r\n")) return false;
    const auto header = std::ranges::find_if(
        known_headers, [&](const Header& known) { return are_equal(name, known.name); });
    if (header == known_headers.end()) continue;
    const auto index = static_cast<std::size_t>(header - known_headers.begin());
    if (std::exchange(seen[index], true)) return false;
    if (header->read == nullptr || !header->read(value, request)) return false;
  }
  const bool has_host = seen.front();
  return has_host && !request.token.empty();
}

}  // namespace

std::optional<Request> read_request(std::string_view bytes) {
  Request request;
  std::string_view rest = bytes;
  if (!read_request_line(rest, request) || !read_headers(rest, request)) {
    return std::nullopt;
  }
  if (bytes.size() - rest.size() > max_head_size) return std::nullopt;
  const bool is_read = request.method == "GET";
  if (is_read && (request.content_length || request.is_json || request.idempotency_key)) {
    return std::nullopt;
  }
  if (rest.size() != request.content_length.value_or(0)) return std::nullopt;
  if (!rest.empty() && !request.is_json) return std::nullopt;
  request.body = rest;
  return request;
}

}  // namespace comptroller::http
