// Closed sets of values. The position of a value is the code that the store holds, so a released
// list only grows at its end.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace comptroller {

enum class ControlType : std::uint8_t { sell_only, closed, frozen, dormant };
enum class SetBy : std::uint8_t { client, provider };
enum class Ledger : std::uint8_t { ethereum, solana, ink, xlayer, arbitrum_one };
enum class ClaimStatus : std::uint8_t { pending, submitted, confirmed, failed };
enum class ScheduleType : std::uint8_t { daily };
enum class Order : std::uint8_t { descending, ascending };
enum class IdentityStatus : std::uint8_t { approved, disabled, error };
enum class Action : std::uint8_t { buy, sell, deposit, withdraw };

// The texts of the values of an enum, in the order of its enumerators; empty for other types.
template <class E>
inline constexpr std::array<std::string_view, 0> words_of{};

template <>
inline constexpr auto words_of<ControlType> =
    std::to_array<std::string_view>({"SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"});
template <>
inline constexpr auto words_of<SetBy> = std::to_array<std::string_view>({"CLIENT", "PROVIDER"});
template <>
inline constexpr auto words_of<Ledger> =
    std::to_array<std::string_view>({"ETHEREUM", "SOLANA", "INK", "XLAYER", "ARBITRUM_ONE"});
template <>
inline constexpr auto words_of<ClaimStatus> =
    std::to_array<std::string_view>({"PENDING", "SUBMITTED", "CONFIRMED", "FAILED"});
template <>
inline constexpr auto words_of<ScheduleType> = std::to_array<std::string_view>({"DAILY"});
template <>
inline constexpr auto words_of<Order> = std::to_array<std::string_view>({"DESC", "ASC"});
template <>
inline constexpr auto words_of<IdentityStatus> =
    std::to_array<std::string_view>({"APPROVED", "DISABLED", "ERROR"});
template <>
inline constexpr auto words_of<Action> =
    std::to_array<std::string_view>({"BUY", "SELL", "DEPOSIT", "WITHDRAW"});

template <class E>
concept ClosedSet = !words_of<E>.empty();

template <ClosedSet E>
constexpr std::string_view word(E value) {
  const auto code = static_cast<std::size_t>(value);
  // The code may be from a damaged store.
  return code < words_of<E>.size() ? words_of<E>[code] : "(unknown)";
}

template <ClosedSet E>
constexpr std::optional<E> find_word(std::string_view text) {
  for (std::size_t code = 0; code < words_of<E>.size(); ++code) {
    if (words_of<E>[code] == text) return static_cast<E>(code);
  }
  return std::nullopt;
}

}  // namespace comptroller
