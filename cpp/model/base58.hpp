// Base58 in Bitcoin's alphabet, which Solana uses, without a checksum. Each leading '1' is a zero
// byte.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

namespace comptroller {

// Takes time quadratic in the length: limit the length of untrusted input first.
std::optional<std::vector<unsigned char>> decode_base58(std::string_view text);

}  // namespace comptroller
