#include "json/minified.hpp"

#include <simdjson.h>

#include "json/memory.hpp"
#include "json/reading.hpp"

namespace comptroller::json {

std::optional<std::string> minified(std::string_view text) {
  thread_local simdjson::dom::parser parser(max_document_size);
  simdjson::dom::element value;
  const auto failure = parser.parse(text.data(), text.size()).get(value);
  check_memory(failure);
  if (failure != simdjson::SUCCESS) return std::nullopt;
  return simdjson::minify(value);
}

}  // namespace comptroller::json
