#include "sample/values.hpp"

#include <algorithm>
#include <array>

#include "model/addresses.hpp"
#include "model/ascii.hpp"
#include "model/identifier.hpp"
#include "model/scalar.hpp"
#include "model/text.hpp"

namespace comptroller::sample {
namespace {

constexpr std::string_view base58_digits =
    "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz";

// Draws digits directly, because encoding bytes is slow. With a first digit from 1 to `first`, 44
// digits decode to exactly 32 bytes if first <= 15, and 88 digits to 64 bytes if first <= 4.
std::string base58(std::size_t length, std::uint32_t first, Random& random) {
  std::string text(length, base58_digits[1 + random.below(first)]);
  std::uint64_t drawn = 0;
  for (std::size_t at = 1; at < length; ++at, drawn /= 58) {
    if (at % 10 == 1) drawn = random.next();
    text[at] = base58_digits[drawn % 58];
  }
  return text;
}

std::string bytes(std::size_t count, Random& random) {
  std::string drawn(count, '\0');
  random.fill(drawn);
  return drawn;
}

}  // namespace

std::string lower(std::string_view text) {
  std::string lowered(text);
  std::ranges::transform(lowered, lowered.begin(), to_lower);
  return lowered;
}

std::string uuid_at(std::uint64_t time_us, Random& random) {
  std::array<unsigned char, 10> bytes{};
  random.fill(bytes);
  return make_uuid_v7(timestamp(time_us), bytes);
}

std::string address_on(Ledger ledger, Random& random) {
  if (ledger == Ledger::solana) return base58(44, 15, random);
  return text_of(PackedHexadecimal{bytes(packed_address_length, random)});
}

std::string transaction_on(Ledger ledger, Random& random) {
  if (ledger == Ledger::solana) return base58(88, 4, random);
  return text_of(PackedHexadecimal{bytes(TransactionHash::packed_length, random)});
}

Int128 amount_below(std::uint64_t limit, Random& random) {
  const std::uint64_t units = random.skewed(limit);
  return Int128{units} * one_unit + random.between(0, one_unit);
}

std::string amount_text(Int128 amount, int decimals) {
  return format_scaled(amount - amount % power_of_ten(18 - decimals));
}

}  // namespace comptroller::sample
