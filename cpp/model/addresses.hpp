// The addresses of a claim, stored byte for byte, and a packed form for the usual ones.
#pragma once

#include <cstddef>
#include <ranges>
#include <string_view>
#include <vector>

#include "model/hexadecimal.hpp"
#include "model/text.hpp"

namespace comptroller {

using Addresses = std::vector<Label>;

inline constexpr std::size_t packed_address_length = 20;

// Packs addresses into 20 bytes each if every one is "0x" and 40 lower-case hexadecimal digits,
// else returns false.
inline bool pack_addresses(const Addresses& addresses, char* out) {
  for (const Label& address : addresses) {
    if (!read_prefixed_hexadecimal(address.value, packed_address_length, out)) return false;
    out += packed_address_length;
  }
  return true;
}

// Returns a view of the text of each packed address; `bytes` must outlive them.
inline auto packed_addresses(std::string_view bytes) {
  return std::views::iota(std::size_t{0}, bytes.size() / packed_address_length) |
         std::views::transform([bytes](std::size_t index) {
           constexpr std::size_t length = packed_address_length;
           return PackedHexadecimal{bytes.substr(index * length, length)};
         });
}
using PackedAddresses = decltype(packed_addresses({}));

}  // namespace comptroller
