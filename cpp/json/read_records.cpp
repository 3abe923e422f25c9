// Records as a load reads them, and the nested ones as the store keeps them.
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

Metadata read_stored_metadata(std::string_view document) {
  Metadata metadata;
  simdjson::dom::parser parser;
  const simdjson::dom::object object =
      parser.parse(document.data(), document.size()).get_object().value();
  for (const auto& [key, value] : object) {
    metadata.pairs.emplace_back(key, value.get_string().value());
  }
  return metadata;
}

Addresses read_stored_addresses(std::string_view document) {
  Addresses addresses;
  simdjson::dom::parser parser;
  const simdjson::dom::array array =
      parser.parse(document.data(), document.size()).get_array().value();
  for (const simdjson::dom::element element : array) {
    addresses.push_back(Label{std::string(element.get_string().value())});
  }
  return addresses;
}

}  // namespace comptroller::json
