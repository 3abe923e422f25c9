// Validation of addresses by ledger: reward addresses and the addresses of a payout group.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/enums.hpp"

namespace comptroller {

// The form in which an address is stored, compared and shown; nullopt if `text` is no address of
// `ledger`. SOLANA: base58 of exactly 32 bytes, as given. Other ledgers: "0x" and 40 hexadecimal
// digits, all lower case, all upper case or with a correct EIP-55 checksum; converted to EIP-55.
std::optional<std::string> canonical_address(Ledger ledger, std::string_view text);
// The form in which an address of a filter would be stored: accepts any case on an EVM ledger,
// without checking the checksum. Returns a text that is no address of `ledger` as it is.
std::string sought_address(Ledger ledger, std::string_view text);
std::string address_expectation(Ledger ledger);

}  // namespace comptroller
