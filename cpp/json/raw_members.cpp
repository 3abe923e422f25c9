#include "json/raw_members.hpp"

#include <simdjson.h>

#include "model/error.hpp"

namespace comptroller::json {

namespace {

Error not_json() {
  return Error::damaged("a document is not JSON");
}

simdjson::ondemand::parser& parser_of_thread() {
  thread_local simdjson::ondemand::parser parser;
  return parser;
}

}  // namespace

RawMembers raw_members(std::string_view object) {
  const simdjson::padded_string padded(object);
  RawMembers members;
  try {
    simdjson::ondemand::document document = parser_of_thread().iterate(padded);
    for (simdjson::ondemand::field field : document.get_object()) {
      const std::string_view name = field.unescaped_key();
      std::string& text = members[std::string(name)];
      text = std::string_view(simdjson::to_json_string(field.value()));
    }
  } catch (const simdjson::simdjson_error&) {
    throw not_json();
  }
  return members;
}

std::string plain_text(const RawMembers& members, std::string_view name) {
  const auto found = members.find(name);
  if (found == members.end() || found->second.size() < 2) return {};
  return found->second.substr(1, found->second.size() - 2);
}

std::vector<std::string> raw_elements(std::string_view array) {
  const simdjson::padded_string padded(array);
  std::vector<std::string> elements;
  try {
    simdjson::ondemand::document document = parser_of_thread().iterate(padded);
    for (simdjson::ondemand::value element : document.get_array()) {
      elements.emplace_back(std::string_view(simdjson::to_json_string(element)));
    }
  } catch (const simdjson::simdjson_error&) {
    throw not_json();
  }
  return elements;
}

std::string to_object(const RawMembers& members) {
  std::string text;
  for (const auto& [name, value] : members) {
    text.append(text.empty() ? "{\"" : ",\"").append(name).append("\":").append(value);
  }
  return text.empty() ? "{}" : text + '}';
}

}  // namespace comptroller::json
