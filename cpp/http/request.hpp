// A strict reader of whole HTTP/1.1 requests.
#pragma once

#include <optional>
#include <string_view>

namespace comptroller::http {

// Views into the bytes that were read.
struct Request {
  std::string_view method;
  std::string_view path;   // begins with a slash; without percent-encoding
  std::string_view query;  // without the question mark, percent-encoding and plus signs
  std::string_view token;  // of `Authorization: Bearer`
  std::optional<std::string_view> idempotency_key;
  bool has_accept_encoding = false;
  std::string_view body;  // JSON, if its Content-Type is given
};

// Reads bytes that are exactly one request and mean the same to every reader of RFC 9112; gives
// nothing for any others: then a full parser decides. What it accepts has one Host and one bearer
// token, no header that changes how the message is framed, understood or answered, but
// Idempotency-Key and Accept-Encoding, and a body only as JSON of a stated length.
std::optional<Request> read_request(std::string_view bytes);

}  // namespace comptroller::http
