// An instant: UTC microseconds, years 0001 to 9999.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "model/storage_class.hpp"

namespace comptroller {

struct Timestamp {
  static constexpr std::string_view kind = "timestamp";
  static constexpr StorageClass storage = StorageClass::timestamp;

  std::int64_t microseconds = 0;  // since 1970-01-01T00:00:00Z

  // RFC 3339 with an offset, or a date, which is the start of this day in UTC. `T` and `Z` may be
  // of either case; fraction digits beyond the sixth are cut. Second 60 exists only at 23:59 UTC
  // and becomes 59.999999 of that minute.
  static std::optional<Timestamp> parse(std::string_view text);
  // Also a time as databases write it, in a file to load: with spaces for `T`, or none of the
  // offset's colon and minutes, such as 2026-01-31 23:59:59+00.
  static std::optional<Timestamp> parse_loaded(std::string_view text);
  static std::string expectation();
  Timestamp view() const { return *this; }
  friend auto operator<=>(const Timestamp&, const Timestamp&) = default;
};

// 0001-01-01T00:00:00.000000Z and 9999-12-31T23:59:59.999999Z.
inline constexpr Timestamp earliest_timestamp{-62'135'596'800'000'000};
inline constexpr Timestamp latest_timestamp{253'402'300'799'999'999};

inline constexpr std::size_t timestamp_length = 27;

// Writes exactly 27 characters, such as 2026-01-31T23:59:59.000000Z, without a terminating zero. A
// time outside years 0001 to 9999 is written as the nearest one inside.
void format_timestamp(Timestamp timestamp, char* out);
std::string to_string(Timestamp timestamp);

}  // namespace comptroller
