// Generates times, ids, addresses, transaction hashes and amounts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/amount.hpp"
#include "model/enums.hpp"
#include "model/timestamp.hpp"
#include "sample/random.hpp"

namespace comptroller::sample {

// Times are microseconds since 1970 in UTC.
inline constexpr std::uint64_t second_us = 1'000'000;
inline constexpr std::uint64_t minute_us = 60 * second_us;
inline constexpr std::uint64_t hour_us = 60 * minute_us;
inline constexpr std::uint64_t day_us = 24 * hour_us;

constexpr std::uint64_t date_us(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
  return static_cast<std::uint64_t>(date.time_since_epoch().count()) * day_us;
}
constexpr Timestamp timestamp(std::uint64_t time_us) {
  return {static_cast<std::int64_t>(time_us)};
}

// Returns the time of row `index` of `rows`: the period is divided evenly, and the time is random
// in the row's part.
constexpr std::uint64_t spread_us(std::uint64_t index, std::uint64_t rows, std::uint64_t begin_us,
                                  std::uint64_t end_us, Random& random) {
  const std::uint64_t step = (end_us - begin_us) / std::max<std::uint64_t>(rows, 1);
  return begin_us + index * step + random.next() % step;
}

std::string lower(std::string_view text);
// Returns a version 7 UUID of this time.
std::string uuid_at(std::uint64_t time_us, Random& random);
std::string address_on(Ledger ledger, Random& random);
std::string transaction_on(Ledger ledger, Random& random);

// Amounts are integers of 10^-18 units until they are written as text.
inline constexpr std::uint64_t one_unit = 1'000'000'000'000'000'000;

constexpr std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}
// Returns an amount below `limit` units, usually small.
Int128 amount_below(std::uint64_t limit, Random& random);
// Returns the text of an amount with at most this many decimals.
std::string amount_text(Int128 amount, int decimals);
constexpr int decimals_of(Ledger ledger) {
  return ledger == Ledger::solana ? 9 : 18;
}

}  // namespace comptroller::sample
