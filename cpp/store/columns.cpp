#include "store/columns.hpp"

#include <algorithm>

namespace comptroller::store {

namespace {

std::string_view require_length(const Value& value, bool is_right) {
  if (is_right) return value.bytes;
  throw Error::damaged("an id, hash or address has a wrong length");
}

}  // namespace

std::string_view packed(const Value& value, std::size_t length) {
  return require_length(value, value.bytes.size() == length);
}

std::string_view packed_addresses(const Value& value) {
  return require_length(value, value.bytes.size() % packed_address_length == 0);
}

std::string identifier_text(const Value& value) {
  if (value.kind != Value::Kind::blob) return std::string(value.bytes);
  std::string text(uuid_length, '\0');
  format_uuid(packed(value, packed_uuid_length).data(), text.data());
  return text;
}

std::string hash_text(const Value& value) {
  if (value.kind != Value::Kind::blob) return std::string(value.bytes);
  return TransactionHash::unpack(packed(value, TransactionHash::packed_length));
}

Addresses addresses_of(const Value& value) {
  if (value.kind != Value::Kind::blob) return json::read_stored_addresses(value.bytes);
  Addresses addresses;
  const std::string_view bytes = packed_addresses(value);
  for (std::size_t at = 0; at < bytes.size(); at += packed_address_length) {
    append_unpacked(bytes.substr(at, packed_address_length), addresses.emplace_back().value);
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
