#include "store/columns.hpp"

#include <algorithm>
#include <array>

namespace comptroller::store {

namespace {

std::string_view require_length(const Value& value, bool is_right) {
  if (is_right) return value.bytes;
  throw Error::damaged("an id, hash or address has a wrong length");
}

}  // namespace

std::string_view JsonText::whole() const {
  if (text.size() > 1 && text.front() == first && text.back() == last) return text;
  throw Error::damaged("a document is cut off");
}

std::string_view packed(const Value& value, std::size_t length) {
  return require_length(value, value.bytes.size() == length);
}

PackedAddresses packed_addresses(const Value& value) {
  return {require_length(value, value.bytes.size() % packed_address_length == 0)};
}

Addresses addresses_of(const PackedAddresses& packed) {
  Addresses addresses;
  for (std::size_t index = 0; index < packed.count(); ++index) {
    addresses.push_back({text_of(packed[index])});
  }
  return addresses;
}

std::string_view Parameters::keep(std::string_view bytes) {
  char* copy = nullptr;
  if (used_ + bytes.size() <= space_bytes) {
    if (!space_) space_ = std::make_unique_for_overwrite<char[]>(space_bytes);
    copy = space_.get() + used_;
    used_ += bytes.size();
  } else {
    copy = more_space_.emplace_back(std::make_unique_for_overwrite<char[]>(bytes.size())).get();
  }
  std::ranges::copy(bytes, copy);
  return {copy, bytes.size()};
}

Value Parameters::identifier(std::string_view id) {
  std::array<char, packed_uuid_length> packed{};
  if (!pack_uuid(id, packed.data())) return Value::of(id);
  return Value::blob(keep({packed.data(), packed.size()}));
}

Value Parameters::hash(const TransactionHash& hash) {
  std::array<char, TransactionHash::packed_length> packed{};
  if (!hash.pack(packed)) return Value::of(std::string_view(hash.value));
  return Value::blob(keep({packed.data(), packed.size()}));
}

Value Parameters::addresses(const Addresses& addresses) {
  if (std::optional<std::string> packed = pack_addresses(addresses)) {
    return Value::blob(keep(*packed));
  }
  std::string text;
  json::append_value(text, addresses, json::Audience::provider);
  return own(text);
}

}  // namespace comptroller::store
