// Validation of addresses by ledger: reward addresses and the addresses of a payout group. The
// forms in which addresses and hashes of transactions are compared.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/enums.hpp"

namespace comptroller {

// Returns the form in which an address is stored, compared and shown; nullopt if `text` is not an
// address on `ledger`. SOLANA: base58 of exactly 32 bytes, unchanged. Other ledgers: "0x" and 40
// hexadecimal digits, all lower case, all upper case or with a correct EIP-55 checksum; converted
// to EIP-55.
std::optional<std::string> canonical_address(Ledger ledger, std::string_view text);
// Returns the stored form of an address in a filter. On an EVM ledger any case is accepted and the
// checksum is not verified. A text that is not an address on `ledger` is returned unchanged.
std::string sought_address(Ledger ledger, std::string_view text);
// Returns the form in which addresses of unknown ledgers are compared: "0x" and 40 hexadecimal
// digits in lower case; any other text unchanged.
std::string folded_address(std::string_view text);
// Returns the form in which hashes of transactions are compared: "0x" and 64 hexadecimal digits in
// lower case; any other text unchanged.
std::string folded_hash(std::string_view text);
std::string address_expectation(Ledger ledger);

}  // namespace comptroller
