// Reads a document as a record and returns the error.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "json/reader.hpp"
#include "model/error.hpp"
#include "model/requests.hpp"

namespace comptroller::json {

struct Refused {
  std::string code;  // empty: the document was read
  std::vector<std::string> fields;
  std::vector<std::string> messages;  // of the fields
};

template <Record R>
Refused refused(std::string_view document, const ReadOptions& options = {}) {
  static Reader reader;
  R record{};
  try {
    reader.read(document, record, options);
    return {};
  } catch (const Error& error) {
    Refused refused{std::string(problem(error.code()).code), {}, {}};
    for (const FieldError& field : error.errors()) {
      refused.fields.push_back(field.field);
      refused.messages.push_back(field.message);
    }
    return refused;
  }
}

template <Record R>
R read(std::string_view document, const ReadOptions& options = {}) {
  static Reader reader;
  R record{};
  reader.read(document, record, options);
  return record;
}

// Reads a document and ignores unknown members, so that only the document itself is judged.
inline Refused judged(std::string_view document) {
  UnknownMembers unknown;
  ReadOptions options;
  options.unknown = &unknown;
  return refused<DeleteControl>(document, options);
}
inline std::string judged_code(std::string_view document) {
  return judged(document).code;
}

inline std::string repeated(std::string_view text, std::size_t times) {
  std::string result;
  for (std::size_t i = 0; i < times; ++i) result += text;
  return result;
}

}  // namespace comptroller::json
