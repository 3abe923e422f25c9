// Keccak-256 as Ethereum uses it: the original padding (0x01), not that of SHA3-256.
#pragma once

#include <array>
#include <string_view>

namespace comptroller {

std::array<char, 32> keccak256(std::string_view message);

}  // namespace comptroller
