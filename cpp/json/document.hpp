// A validated JSON document.
#pragma once

#include <simdjson.h>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "json/reading.hpp"

namespace comptroller::json {

// Parses one document after another and reuses its buffers. For one thread at a time.
class Parser {
 public:
  Parser();

  // Validates a document and returns its object, which the next call invalidates. Throws the errors
  // of Reader for text that is not a JSON object. `is_padded`: see ReadOptions.
  simdjson::dom::object parse(std::string_view document, bool is_padded);
  // Does the same, and keeps the texts of numbers, which `text_of` then returns unchanged. Slower.
  simdjson::dom::object parse_keeping_numbers(std::string_view document);

  // Returns the text of a number, or of another value, of the parsed document as JSON.
  std::string text_of(const simdjson::dom::element& value) const;

 private:
  static simdjson::dom::object checked(const simdjson::dom::element& root,
                                       std::string_view document);
  simdjson::dom::element parse_any_numbers(std::string_view document);

  // Positions in place of numbers can make a document almost four times as long.
  simdjson::dom::parser parser_{4 * max_document_size};
  // If the document has a number that no machine type holds, or the texts of numbers are kept: its
  // numbers, in order. Each number of the parsed document is then the position of its text.
  std::vector<std::string> numbers_;
};

// Calls `visit` with the key and value of each member or element; the key of an element is empty.
template <class Visit>
void for_each_child(const simdjson::dom::element& element, Visit visit) {
  if (element.is_array()) {
    const simdjson::dom::array array = element.get_array().value_unsafe();
    for (const simdjson::dom::element child : array) visit(std::string_view(), child);
  } else if (element.is_object()) {
    const simdjson::dom::object object = element.get_object().value_unsafe();
    for (const auto& [key, child] : object) visit(key, child);
  }
}

// Throws invalid_request for a duplicate member at any depth.
void refuse_duplicates(const simdjson::dom::element& element);

}  // namespace comptroller::json
