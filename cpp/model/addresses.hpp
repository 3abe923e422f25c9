// The addresses of a claim, kept byte for byte, and a packed form for the usual ones.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/text.hpp"

namespace comptroller {

using Addresses = std::vector<Label>;

inline constexpr std::size_t packed_address_length = 20;

// 20 bytes an address when each is "0x" and 40 lower-case hexadecimal digits (of none: no bytes),
// else nothing.
std::optional<std::string> pack_addresses(const Addresses& addresses);

}  // namespace comptroller
