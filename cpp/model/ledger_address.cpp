#include "model/ledger_address.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "model/base58.hpp"
#include "model/keccak.hpp"

namespace comptroller {

namespace {

constexpr std::size_t evm_digits = 40;
constexpr std::size_t solana_bytes = 32;
constexpr std::size_t solana_longest = 44;  // 58^43 < 2^256 < 58^44

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_lower(char c) {
  return c >= 'a' && c <= 'f';
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'F';
}

char to_lower(char c) {
  return is_upper(c) ? static_cast<char>(c - 'A' + 'a') : c;
}
char to_upper(char c) {
  return is_lower(c) ? static_cast<char>(c - 'a' + 'A') : c;
}

// EIP-55: a letter is upper case where the nibble of the hash of the lower-case digits is 8 or
// more.
std::string with_checksum(std::string_view digits) {
  std::string lower_digits(digits);
  std::ranges::transform(digits, lower_digits.begin(), to_lower);
  const std::array<unsigned char, 32> hash = keccak256(lower_digits);
  std::string address = "0x" + lower_digits;
  for (std::size_t i = 0; i < evm_digits; ++i) {
    const unsigned nibble = (unsigned{hash[i / 2]} >> (i % 2 == 0 ? 4U : 0U)) & 0xfU;
    if (nibble >= 8) address[2 + i] = to_upper(address[2 + i]);
  }
  return address;
}

std::optional<std::string> canonical_evm_address(std::string_view text) {
  if (text.size() != 2 + evm_digits || !text.starts_with("0x")) return std::nullopt;
  const std::string_view digits = text.substr(2);
  bool any_lower = false;
  bool any_upper = false;
  for (const char c : digits) {
    if (is_decimal(c)) continue;
    if (!is_lower(c) && !is_upper(c)) return std::nullopt;
    any_lower |= is_lower(c);
    any_upper |= is_upper(c);
  }
  std::string address = with_checksum(digits);
  if (any_lower && any_upper && address != text) return std::nullopt;
  return address;
}

std::optional<std::string> canonical_solana_address(std::string_view text) {
  if (text.size() > solana_longest) return std::nullopt;
  const auto bytes = decode_base58(text);
  if (!bytes || bytes->size() != solana_bytes) return std::nullopt;
  return std::string(text);
}

}  // namespace

std::optional<std::string> canonical_address(Ledger ledger, std::string_view text) {
  return ledger == Ledger::solana ? canonical_solana_address(text) : canonical_evm_address(text);
}

std::string sought_address(Ledger ledger, std::string_view text) {
  std::string in_one_case(text);
  if (ledger != Ledger::solana) std::ranges::transform(text, in_one_case.begin(), to_lower);
  return canonical_address(ledger, in_one_case).value_or(std::string(text));
}

std::string address_expectation(Ledger ledger) {
  if (ledger == Ledger::solana) return "an address of SOLANA: 32 bytes in base58";
  return "an address of " + std::string(word(ledger)) +
         ": 0x and 40 hexadecimal digits, all lower case, all upper case or with a right EIP-55 "
         "checksum";
}

}  // namespace comptroller
