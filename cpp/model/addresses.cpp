#include "model/addresses.hpp"

#include "model/hexadecimal.hpp"

namespace comptroller {

std::optional<std::string> pack_addresses(const Addresses& addresses) {
  std::string packed(addresses.size() * packed_address_length, '\0');
  char* out = packed.data();
  for (const Label& address : addresses) {
    if (!read_prefixed_hexadecimal(address.value, packed_address_length, out)) return std::nullopt;
    out += packed_address_length;
  }
  return packed;
}

}  // namespace comptroller
