#include "json/memory.hpp"
#include "json/reader.hpp"
#include "model/addresses.hpp"
#include "model/records/orchestrations.hpp"

namespace comptroller::json {

template <class T>
T read_stored(std::string_view document) {
  thread_local Reader reader;
  T record{};
  try {
    reader.read(document, record);
  } catch (const Error& error) {
    if (error.code() == Code::unavailable) throw;
    throw Error::damaged(error.detail());
  }
  return record;
}

template Transfer read_stored(std::string_view);
template FailReason read_stored(std::string_view);
template Source read_stored(std::string_view);
template Destination read_stored(std::string_view);

namespace {

// Calls `take` with the key and the text of each child of a container of strings.
void read_texts(std::string_view document, simdjson::dom::element_type container, auto take) {
  thread_local simdjson::dom::parser parser;
  try {
    const simdjson::dom::element root = parser.parse(document.data(), document.size());
    if (root.type() != container) throw Error::damaged("a document is of the wrong type");
    for_each_child(root, [&](std::string_view key, const simdjson::dom::element& child) {
      take(key, child.get_string());
    });
  } catch (const simdjson::simdjson_error& error) {
    check_memory(error.error());
    throw Error::damaged(error.what());
  }
}

}  // namespace

template <>
Metadata read_stored(std::string_view document) {
  Metadata metadata;
  read_texts(
      document, simdjson::dom::element_type::OBJECT,
      [&](std::string_view key, std::string_view text) { metadata.pairs.emplace_back(key, text); });
  return metadata;
}

template <>
Addresses read_stored(std::string_view document) {
  Addresses addresses;
  read_texts(document, simdjson::dom::element_type::ARRAY,
             [&](std::string_view, std::string_view text) {
               addresses.push_back(Label{std::string(text)});
             });
  return addresses;
}

}  // namespace comptroller::json
