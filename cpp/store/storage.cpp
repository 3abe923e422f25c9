#include "store/storage.hpp"

#include <algorithm>
#include <array>

namespace comptroller::store {

std::string_view require_length(const Value& value, std::size_t length) {
  if (value.bytes.size() == length) return value.bytes;
  throw Error::damaged("an id, hash or address has a wrong length");
}

PackedAddresses require_addresses(const Value& value) {
  const std::size_t size = value.bytes.size();
  return packed_addresses(require_length(value, size - size % packed_address_length));
}

std::string_view BoundValues::keep(std::string_view bytes) {
  constexpr std::size_t ids_and_hashes_of_a_record = 512;
  if (!memory_) {
    memory_ = std::make_unique<std::pmr::monotonic_buffer_resource>(ids_and_hashes_of_a_record);
  }
  auto* const copy = static_cast<char*>(memory_->allocate(bytes.size(), 1));
  std::ranges::copy(bytes, copy);
  return {copy, bytes.size()};
}

Value BoundValues::identifier(std::string_view id) {
  std::array<char, packed_uuid_length> packed{};
  if (!pack_uuid(id, packed.data())) return Value::of(id);
  return Value::blob(keep({packed.data(), packed.size()}));
}

Value BoundValues::hash(std::string_view hash) {
  std::array<char, TransactionHash::packed_length> packed{};
  if (!TransactionHash::pack(hash, packed.data())) return Value::of(hash);
  return Value::blob(keep({packed.data(), packed.size()}));
}

Value BoundValues::addresses(const Addresses& addresses) {
  if (std::optional<std::string> packed = pack_addresses(addresses)) {
    return Value::blob(keep(*packed));
  }
  std::string text;
  json::JsonWriter(text).write(addresses);
  return own(text);
}

}  // namespace comptroller::store
