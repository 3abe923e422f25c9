// Records as a load reads them, and documents as the store holds them.
#include "json/read.hpp"

namespace comptroller::json {

template void Reader::read(std::string_view, StoredIdentity&, const ReadOptions&);
template void Reader::read(std::string_view, IdentityLine&, const ReadOptions&);
template void Reader::read(std::string_view, Control&, const ReadOptions&);
template void Reader::read(std::string_view, Orchestration&, const ReadOptions&);
template void Reader::read(std::string_view, PayoutGroup&, const ReadOptions&);
template void Reader::read(std::string_view, RewardAddress&, const ReadOptions&);
template void Reader::read(std::string_view, Balance&, const ReadOptions&);
template void Reader::read(std::string_view, Claim&, const ReadOptions&);

template Transfer read_stored(std::string_view);
template FailReason read_stored(std::string_view);
template Source read_stored(std::string_view);
template Destination read_stored(std::string_view);

namespace {

void require_stored(simdjson::error_code failure) {
  if (failure != simdjson::SUCCESS) throw Error::damaged(simdjson::error_message(failure));
}

simdjson::dom::element parse_stored(std::string_view document) {
  thread_local simdjson::dom::parser parser;
  simdjson::dom::element root;
  require_stored(parser.parse(document.data(), document.size()).get(root));
  return root;
}

}  // namespace

template <>
Metadata read_stored(std::string_view document) {
  Metadata metadata;
  simdjson::dom::object object;
  require_stored(parse_stored(document).get_object().get(object));
  for (const auto& [key, value] : object) {
    std::string_view text;
    require_stored(value.get_string().get(text));
    metadata.pairs.emplace_back(key, text);
  }
  return metadata;
}

template <>
Addresses read_stored(std::string_view document) {
  Addresses addresses;
  simdjson::dom::array array;
  require_stored(parse_stored(document).get_array().get(array));
  for (const simdjson::dom::element element : array) {
    std::string_view text;
    require_stored(element.get_string().get(text));
    addresses.push_back(Label{std::string(text)});
  }
  return addresses;
}

}  // namespace comptroller::json
