// The header fields of one request, which llhttp has parsed.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller::http {

struct Header {
  std::string name;   // in lower case
  std::string value;  // without white space at its ends
};

struct Fields {
  // Adds a field as received.
  void add(std::string_view name, std::string_view value);

  std::vector<Header> headers;
  std::size_t bytes = 0;  // of their lines as received
};

}  // namespace comptroller::http
