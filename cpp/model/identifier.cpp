#include "model/identifier.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <utility>

#include "model/ascii.hpp"
#include "model/hexadecimal.hpp"

namespace comptroller {

namespace {

constexpr std::int64_t microseconds_per_millisecond = 1'000;
constexpr std::size_t time_bytes = 6;

bool is_visible(char c) {
  return c >= 0x21 && c <= 0x7e;
}

// Sets `value` to a UUID of any case, in lower case; returns false for other text.
bool assign_uuid(std::string& value, std::string_view text) {
  if (text.size() != uuid_length) return false;
  std::array<char, packed_uuid_length> ignored{};
  if (pack_uuid(text, ignored.data())) {
    value = text;
    return true;
  }
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), to_lower);
  if (!pack_uuid(lower, ignored.data())) return false;
  value = std::move(lower);
  return true;
}

}  // namespace

bool Id::assign(std::string_view text) {
  if (assign_uuid(value, text)) return true;
  if (text.empty() || text.size() > maximum_length || !std::ranges::all_of(text, is_visible)) {
    return false;
  }
  value = text;
  return true;
}

std::string Id::expectation() {
  return "an id of 1 to " + std::to_string(maximum_length) +
         " printable ASCII characters without space";
}

bool Uuid::assign(std::string_view text) {
  return assign_uuid(value, text);
}

std::string Uuid::expectation() {
  return "a UUID, such as 0190163d-8694-739b-aea5-966c26f8ad91";
}

bool pack_uuid(std::string_view text, char* out16) {
  if (text.size() != uuid_length) return false;
  const char* const at = text.data();
  if (at[8] != '-' || at[13] != '-' || at[18] != '-' || at[23] != '-') return false;
  // Not a loop over the groups, because copies of constant size are faster.
  std::array<char, 2 * packed_uuid_length> digits{};
  std::memcpy(digits.data(), at, 8);
  std::memcpy(digits.data() + 8, at + 9, 4);
  std::memcpy(digits.data() + 12, at + 14, 4);
  std::memcpy(digits.data() + 16, at + 19, 4);
  std::memcpy(digits.data() + 20, at + 24, 12);
  return read_lower_hexadecimal(digits.data(), packed_uuid_length, out16);
}

void format_uuid(const char* bytes16, char* out36) {
  std::array<char, 2 * packed_uuid_length> digits{};
  write_hexadecimal(bytes16, packed_uuid_length, digits.data());
  std::memcpy(out36, digits.data(), 8);
  out36[8] = '-';
  std::memcpy(out36 + 9, digits.data() + 8, 4);
  out36[13] = '-';
  std::memcpy(out36 + 14, digits.data() + 12, 4);
  out36[18] = '-';
  std::memcpy(out36 + 19, digits.data() + 16, 4);
  out36[23] = '-';
  std::memcpy(out36 + 24, digits.data() + 20, 12);
}

std::string make_uuid_v7(Timestamp now, std::span<const unsigned char, 10> random) {
  std::array<char, packed_uuid_length> bytes{};
  auto milliseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(now.microseconds, 0) /
                                                 microseconds_per_millisecond);
  for (std::size_t i = time_bytes; i-- > 0; milliseconds >>= 8U) {
    bytes[i] = static_cast<char>(milliseconds);
  }
  std::ranges::copy(random, bytes.begin() + time_bytes);
  bytes[6] = static_cast<char>((random[0] & 0x0fU) | 0x70U);  // version 7
  bytes[8] = static_cast<char>((random[2] & 0x3fU) | 0x80U);  // the RFC's variant
  std::string text(uuid_length, '\0');
  format_uuid(bytes.data(), text.data());
  return text;
}

}  // namespace comptroller
