// Addresses that are checked against the ledger they are on: a reward address and the address
// members of a payout group.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "model/enums.hpp"

namespace comptroller {

// The one form in which an address is kept, compared and shown; nothing when it is not an address
// of `ledger`. SOLANA: base58 of exactly 32 bytes, as given. The others: "0x" and 40 hexadecimal
// digits, all lower, all upper or with a right EIP-55 checksum, in EIP-55 form.
std::optional<std::string> canonical_address(Ledger ledger, std::string_view text);
// The form in which an address that is looked for would be kept: of an EVM ledger in any case,
// right checksum or not. What is no address of `ledger` stays as it is.
std::string sought_address(Ledger ledger, std::string_view text);
std::string address_expectation(Ledger ledger);

}  // namespace comptroller
