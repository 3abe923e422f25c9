#include "json/raw_members.hpp"

#include <simdjson.h>

#include "json/memory.hpp"
#include "model/error.hpp"

namespace comptroller::json {

namespace {

// Calls `take` with a document.
void parse(std::string_view text, auto take) {
  thread_local simdjson::ondemand::parser parser;
  const simdjson::padded_string padded(text);
  if (padded.data() == nullptr) throw std::bad_alloc();
  try {
    simdjson::ondemand::document document = parser.iterate(padded);
    take(document);
  } catch (const simdjson::simdjson_error& failure) {
    check_memory(failure.error());
    throw Error::damaged("a document is not JSON");
  }
}

}  // namespace

RawMembers raw_members(std::string_view object) {
  RawMembers members;
  parse(object, [&](simdjson::ondemand::document& document) {
    for (simdjson::ondemand::field field : document.get_object()) {
      const std::string_view name = field.unescaped_key();
      std::string& text = members[std::string(name)];
      text = std::string_view(simdjson::to_json_string(field.value()));
    }
  });
  return members;
}

std::string plain_text(const RawMembers& members, std::string_view name) {
  const auto found = members.find(name);
  if (found == members.end() || found->second.size() < 2) return {};
  return found->second.substr(1, found->second.size() - 2);
}

std::vector<std::string> raw_elements(std::string_view array) {
  std::vector<std::string> elements;
  parse(array, [&](simdjson::ondemand::document& document) {
    for (simdjson::ondemand::value element : document.get_array()) {
      elements.emplace_back(std::string_view(simdjson::to_json_string(element)));
    }
  });
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
