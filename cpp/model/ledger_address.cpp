#include "model/ledger_address.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <ranges>

#include "model/hexadecimal.hpp"
#include "model/keccak.hpp"
#include "model/text.hpp"

namespace comptroller {

namespace {

constexpr std::size_t evm_bytes = 20;
constexpr std::size_t solana_bytes = 32;

char to_lower_digit(char c) {
  return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
}
char to_upper_digit(char c) {
  return c >= 'a' && c <= 'f' ? static_cast<char>(c - 'a' + 'A') : c;
}

// EIP-55 writes a letter in upper case if the digit at its place in the hash of the lower-case
// digits is 8 or more.
std::string with_checksum(std::string address) {
  const std::array<char, 32> hash = keccak256(std::string_view(address).substr(2));
  std::array<char, 2 * evm_bytes> digits{};
  write_hexadecimal(hash.data(), evm_bytes, digits.data());
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (digits[i] >= '8') address[2 + i] = to_upper_digit(address[2 + i]);
  }
  return address;
}

std::optional<std::string> canonical_evm_address(std::string_view text) {
  if (!text.starts_with("0x")) return std::nullopt;
  std::string lower(text);
  std::string upper(text);
  std::ranges::transform(text.substr(2), lower.begin() + 2, to_lower_digit);
  std::ranges::transform(text.substr(2), upper.begin() + 2, to_upper_digit);
  std::array<char, evm_bytes> bytes{};
  if (!read_prefixed_hexadecimal(lower, evm_bytes, bytes.data())) return std::nullopt;
  std::string address = with_checksum(lower);
  if (text != lower && text != upper && text != address) return std::nullopt;
  return address;
}

// Whether `text` is exactly 32 bytes in base58. Each leading '1' is a zero byte.
bool is_solana_address(std::string_view text) {
  constexpr std::string_view alphabet =
      "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";
  std::array<std::uint32_t, solana_bytes / 4> number{};  // the least significant part first
  for (const char c : text) {
    std::uint64_t carry = alphabet.find(c);
    if (carry == std::string_view::npos) return false;
    for (std::uint32_t& part : number) {
      carry += alphabet.size() * part;
      part = static_cast<std::uint32_t>(carry);
      carry >>= 32U;
    }
    if (carry != 0) return false;
  }
  std::size_t zero_bits = 0;
  for (const std::uint32_t part : number | std::views::reverse) {
    zero_bits += static_cast<std::size_t>(std::countl_zero(part));
    if (part != 0) break;
  }
  return zero_bits / 8 == std::min(text.find_first_not_of('1'), text.size());
}

// Returns "0x" and the digits of `Bytes` bytes in lower case, and any other text unchanged.
template <std::size_t Bytes>
std::string folded(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(text, lower.begin(), to_lower_digit);
  if (lower.starts_with("0X")) lower[1] = 'x';
  std::array<char, Bytes> bytes{};
  return read_prefixed_hexadecimal(lower, Bytes, bytes.data()) ? lower : std::string(text);
}

}  // namespace

std::optional<std::string> canonical_address(Ledger ledger, std::string_view text) {
  if (ledger != Ledger::solana) return canonical_evm_address(text);
  return is_solana_address(text) ? std::optional(std::string(text)) : std::nullopt;
}

std::string sought_address(Ledger ledger, std::string_view text) {
  std::string in_one_case(text);
  if (ledger != Ledger::solana) std::ranges::transform(text, in_one_case.begin(), to_lower_digit);
  return canonical_address(ledger, in_one_case).value_or(std::string(text));
}

std::string folded_address(std::string_view text) {
  return folded<evm_bytes>(text);
}

std::string folded_hash(std::string_view text) {
  return folded<TransactionHash::packed_length>(text);
}

std::string address_expectation(Ledger ledger) {
  if (ledger == Ledger::solana) return "an address of SOLANA: 32 bytes in base58";
  return "an address of " + std::string(enum_text(ledger)) +
         ": 0x and 40 hexadecimal digits, all lower case, all upper case or with a correct EIP-55 "
         "checksum";
}

}  // namespace comptroller
