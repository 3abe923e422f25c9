// A validated JSON document (the only place that knows simdjson, with document.cpp and read.hpp).
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
  // Parses and validates; throws what Reader promises for text that is not JSON.
  simdjson::dom::object parse(std::string_view document, bool is_padded);

 private:
  [[noreturn]] void refuse_numbers(std::string_view document);
};

// Refuses a member that is there twice, at any depth.
void refuse_duplicates(const simdjson::dom::element& element);

}  // namespace comptroller::json
