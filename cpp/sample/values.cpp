#include "sample/values.hpp"

#include <array>

#include "model/addresses.hpp"
#include "model/hexadecimal.hpp"
#include "model/identifier.hpp"
#include "model/text.hpp"

namespace comptroller::sample {
namespace {

constexpr std::string_view base58_digits =
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

// Digits are drawn, not encoded, which takes long: a first digit from 1 up to `first` and any
// others make exactly 32 bytes of 44 digits while first <= 15, and 64 bytes of 88 while first <= 4.
std::string base58(std::size_t length, std::uint32_t first, Dice& dice) {
  std::string text(length, base58_digits[1 + dice.below(first)]);
  std::uint64_t drawn = 0;
  for (std::size_t at = 1; at < length; ++at, drawn /= 58) {
    if (at % 10 == 1) drawn = dice.next();
    text[at] = base58_digits[drawn % 58];
  }
  return text;
}

std::string bytes(std::size_t count, Dice& dice) {
  std::string drawn(count, '\0');
  dice.fill(drawn);
  return drawn;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string lowered(text);
  for (char& letter : lowered) {
    if (letter >= 'A' && letter <= 'Z') letter = static_cast<char>(letter - 'A' + 'a');
  }
  return lowered;
}

std::string uuid_at(std::uint64_t moment_us, Dice& dice) {
  std::array<unsigned char, 10> random{};
  dice.fill(random);
  return make_uuid_v7(timestamp(moment_us), random);
}

std::string address_on(Ledger ledger, Dice& dice) {
  if (ledger == Ledger::solana) return base58(44, 15, dice);
  return prefixed_hexadecimal(bytes(packed_address_length, dice));
}

std::string transaction_on(Ledger ledger, Dice& dice) {
  if (ledger == Ledger::solana) return base58(88, 4, dice);
  return prefixed_hexadecimal(bytes(TransactionHash::packed_length, dice));
}

Int128 amount_below(std::uint64_t limit, Dice& dice) {
  const std::uint64_t units = dice.skewed(limit);
  return Int128{units} * one_unit + dice.between(0, one_unit);
}

std::string amount_text(Int128 amount, int decimals) {
  return format_scaled(amount - amount % power_of_ten(18 - decimals));
}

}  // namespace comptroller::sample
