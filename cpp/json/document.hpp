// A validated JSON document. Only json/ includes simdjson.
#pragma once

#include <simdjson.h>

#include <string_view>
#include <vector>

#include "json/reader.hpp"
#include "model/error.hpp"

namespace comptroller::json {

struct Reader::State {
  simdjson::dom::parser parser{largest_document};
  std::vector<FieldError> refused;

  State();
  // Parses and validates; throws the errors of Reader for text that is not a JSON object.
  simdjson::dom::object parse(std::string_view document, bool is_padded);

 private:
  [[noreturn]] void refuse_numbers(std::string_view document);
};

// Refuses a duplicate member at any depth.
void refuse_duplicates(const simdjson::dom::element& element);

}  // namespace comptroller::json
