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

// 20 bytes an address if each is "0x" and 40 lower-case hexadecimal digits (no bytes for an empty
// list), else nullopt.
inline std::optional<std::string> pack_addresses(const Addresses& addresses) {
  std::string packed(addresses.size() * packed_address_length, '\0');
  char* out = packed.data();
  for (const Label& address : addresses) {
    if (!read_prefixed_hexadecimal(address.value, packed_address_length, out)) return std::nullopt;
    out += packed_address_length;
  }
  return packed;
}

// The addresses of such bytes as a list of views.
inline auto packed_addresses(std::string_view bytes) {
  return std::views::iota(std::size_t{0}, bytes.size() / packed_address_length) |
         std::views::transform([bytes](std::size_t index) {
           constexpr std::size_t length = packed_address_length;
           return PackedHexadecimal{bytes.substr(index * length, length)};
         });
}
using PackedAddresses = decltype(packed_addresses({}));

}  // namespace comptroller
