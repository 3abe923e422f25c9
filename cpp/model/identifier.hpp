// Ids that callers choose, and UUIDs that the service generates.
#pragma once

#include <compare>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include "model/storage_class.hpp"
#include "model/timestamp.hpp"

namespace comptroller {

// 1 to 128 printable ASCII characters without space. A UUID in any case is converted to lower case;
// any other id is used as given.
struct Id {
  static constexpr std::string_view kind = "id";
  static constexpr StorageClass storage = StorageClass::identifier;
  static constexpr std::size_t maximum_length = 128;

  std::string value;

  bool assign(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Id&, const Id&) = default;
};

// 8-4-4-4-12 hexadecimal digits of any version and case, converted to lower case.
struct Uuid {
  static constexpr std::string_view kind = "uuid";
  static constexpr StorageClass storage = StorageClass::identifier;

  std::string value;

  bool assign(std::string_view text);
  static std::string expectation();
  friend auto operator<=>(const Uuid&, const Uuid&) = default;
};

inline constexpr std::size_t uuid_length = 36;
inline constexpr std::size_t packed_uuid_length = 16;

// Writes the 16 bytes of a lower-case UUID and returns true. For any other text returns false, and
// `out16` is unspecified.
bool pack_uuid(std::string_view text, char* out16);
// Writes the 36 characters of a UUID, without a terminating zero.
void format_uuid(const char* bytes16, char* out36);

// The text of a UUID from its 16 bytes.
struct PackedUuid {
  std::string_view bytes;

  static constexpr std::size_t size() { return uuid_length; }
  void write(char* out) const { format_uuid(bytes.data(), out); }
};

// A version 7 UUID (RFC 9562) in lower case: the milliseconds of `now`, then `random` except for
// six version and variant bits. Times before 1970 count as 1970.
std::string make_uuid_v7(Timestamp now, std::span<const unsigned char, 10> random);

}  // namespace comptroller
