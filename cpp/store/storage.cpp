#include "store/storage.hpp"

namespace comptroller::store {

std::string_view require_length(const Value& value, std::size_t length) {
  if (value.bytes.size() == length) return value.bytes;
  throw Error::damaged("an id, hash or address has a wrong length");
}

PackedAddresses require_addresses(const Value& value) {
  const std::size_t size = value.bytes.size();
  return packed_addresses(require_length(value, size - size % packed_address_length));
}

char* BoundValues::allocate(std::size_t size) {
  if (!memory_) memory_ = std::make_unique<Memory>();
  return static_cast<char*>(memory_->bytes.allocate(size, 1));
}

Value BoundValues::own(std::string_view text) {
  char* const copy = allocate(text.size());
  text.copy(copy, text.size());
  return Value::of(std::string_view(copy, text.size()));
}

Value BoundValues::identifier(std::string_view id) {
  char* const packed = allocate(packed_uuid_length);
  if (!pack_uuid(id, packed)) return Value::of(id);
  return Value::blob({packed, packed_uuid_length});
}

Value BoundValues::hash(std::string_view hash) {
  char* const packed = allocate(TransactionHash::packed_length);
  if (!TransactionHash::pack(hash, packed)) return Value::of(hash);
  return Value::blob({packed, TransactionHash::packed_length});
}

Value BoundValues::addresses(const Addresses& addresses) {
  const std::size_t size = addresses.size() * packed_address_length;
  char* const packed = allocate(size);
  if (pack_addresses(addresses, packed)) return Value::blob({packed, size});
  std::string text;
  json::JsonWriter(text).write(addresses);
  return own(text);
}

}  // namespace comptroller::store
