// The addresses of a claim, stored byte for byte, and a packed form for the usual ones.
#pragma once

#include <cstddef>
#include <optional>
#include <ranges>
#include <string>
#include <vector>

#include "model/hexadecimal.hpp"
#include "model/text.hpp"

namespace comptroller {

using Addresses = std::vector<Label>;

inline constexpr std::size_t packed_address_length = 20;

// Packs addresses into 20 bytes each if every one is "0x" and 40 lower-case hexadecimal digits,
// else returns nullopt. An empty list packs into an empty string.
inline std::optional<std::string> pack_addresses(const Addresses& addresses) {
  std::string packed(addresses.size() * packed_address_length, '\0');
  char* out = packed.data();
  for (const Label& address : addresses) {
    if (!read_prefixed_hexadecimal(address.value, packed_address_length, out)) return std::nullopt;
    out += packed_address_length;
  }
  return packed;
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
