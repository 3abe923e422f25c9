// Identifiers: those given by a caller and those made here.
#pragma once

#include <compare>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "model/timestamp.hpp"

namespace comptroller {

// 1 to 128 printable ASCII characters without space. What has the shape of a UUID, in any case, is
// kept in lower case; all else as given.
struct Id {
  static constexpr std::size_t maximum_length = 128;

  std::string value;

  static std::optional<Id> parse(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Id&, const Id&) = default;
};

// 8-4-4-4-12 hexadecimal digits of any version and case, kept in lower case.
struct Uuid {
  std::string value;

  static std::optional<Uuid> parse(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

inline constexpr std::size_t uuid_length = 36;
inline constexpr std::size_t packed_uuid_length = 16;

// True, with 16 bytes written, for exactly a UUID in lower case; else false, and `out16` is
// unspecified.
bool pack_uuid(std::string_view text, char* out16);
// Writes the 36 characters of 16 bytes, without a terminating zero.
void format_uuid(const char* bytes16, char* out36);

// A version 7 UUID (RFC 9562) in lower case: the milliseconds of `now`, then `random` but for its
// six version and variant bits. Moments before 1970 count as 1970.
std::string make_uuid_v7(Timestamp now, std::span<const unsigned char, 10> random);

}  // namespace comptroller
