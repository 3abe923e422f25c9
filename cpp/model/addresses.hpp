// The addresses of a claim, kept byte for byte, and a packed form for the usual ones.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/text.hpp"

namespace comptroller {

using Addresses = std::vector<Label>;

inline constexpr std::size_t packed_address_length = 20;
inline constexpr std::size_t unpacked_address_length = 42;

// 20 bytes an address when each is "0x" and 40 lower-case hexadecimal digits (of none: no bytes),
// else nothing.
std::optional<std::string> pack_addresses(const Addresses& addresses);
// Appends the 42 characters of one address. `packed20` must be 20 bytes.
void append_unpacked(std::string_view packed20, std::string& out);

}  // namespace comptroller
