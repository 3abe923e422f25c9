// Values as the field writes them: moments, ids, addresses, transactions and amounts.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "model/amount.hpp"
#include "model/enums.hpp"
#include "model/timestamp.hpp"
#include "sample/dice.hpp"

namespace comptroller::sample {

// Moments are microseconds since 1970, UTC.
inline constexpr std::uint64_t second_us = 1'000'000;
inline constexpr std::uint64_t minute_us = 60 * second_us;
inline constexpr std::uint64_t hour_us = 60 * minute_us;
inline constexpr std::uint64_t day_us = 24 * hour_us;

constexpr std::uint64_t date_us(int year, unsigned month, unsigned day) {
  const std::chrono::sys_days date =
      std::chrono::year{year} / std::chrono::month{month} / std::chrono::day{day};
  return static_cast<std::uint64_t>(date.time_since_epoch().count()) * day_us;
}
constexpr Timestamp timestamp(std::uint64_t moment_us) {
  return {static_cast<std::int64_t>(moment_us)};
}

// Row `index` of `rows` spread evenly over a span of time, each anywhere in its own part of it.
constexpr std::uint64_t spread_us(std::uint64_t index, std::uint64_t rows, std::uint64_t begin_us,
                                  std::uint64_t end_us, Dice& dice) {
  const std::uint64_t step = (end_us - begin_us) / std::max<std::uint64_t>(rows, 1);
  return begin_us + index * step + dice.next() % step;
}

std::string lower(std::string_view text);
// A version 7 UUID of that moment.
std::string uuid_at(std::uint64_t moment_us, Dice& dice);
std::string address_on(Ledger ledger, Dice& dice);
std::string transaction_on(Ledger ledger, Dice& dice);

// Amounts are counted in 10^-18 while they are made.
inline constexpr std::uint64_t one_unit = 1'000'000'000'000'000'000;

constexpr std::uint64_t power_of_ten(int exponent) {
  std::uint64_t power = 1;
  for (; exponent > 0; --exponent) power *= 10;
  return power;
}
// Below `limit` units, most of them small.
Int128 amount_below(std::uint64_t limit, Dice& dice);
// Written with at most that many decimals.
std::string amount_text(Int128 amount, int decimals);
constexpr int decimals_of(Ledger ledger) {
  return ledger == Ledger::solana ? 9 : 18;
}

}  // namespace comptroller::sample
