// Base58 in Bitcoin's alphabet, which Solana uses, without a checksum. Each leading '1' is a zero
// byte.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace comptroller {

// Both take time quadratic in the length: bound what comes from outside first.
std::optional<std::vector<unsigned char>> decode_base58(std::string_view text);
std::string encode_base58(std::span<const unsigned char> bytes);

}  // namespace comptroller
