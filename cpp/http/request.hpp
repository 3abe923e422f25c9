// A strict parser of complete HTTP/1.1 requests.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace comptroller::http {

// Views of the parsed bytes.
struct Request {
  std::string_view method;
  std::string_view path;   // begins with a slash; without percent-encoding
  std::string_view query;  // without the question mark; has no percent-encoding and no plus signs
  std::string_view token;  // of `Authorization: Bearer`
  std::optional<std::string_view> idempotency_key;
  bool has_accept_encoding = false;
  bool is_json = false;  // the Content-Type
  std::optional<std::size_t> content_length;
  std::string_view body;
};

// Parses bytes that are exactly one request with the same meaning for every reader of RFC 9112.
// Returns nullopt for other bytes, which a full parser must handle. An accepted request has one
// Host and one bearer token. It has no header that changes how the message is framed, interpreted
// or answered, except Idempotency-Key and Accept-Encoding. It has a body only as JSON of a stated
// length.
std::optional<Request> read_request(std::string_view bytes);

}  // namespace comptroller::http
