// Closed sets: every word is listed here, any other is refused. The position of a word is the small
// code the store keeps, so a released list only ever grows at its end.
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

// The words of an enum, in the order of its enumerators.
template <class E>
struct Words;

template <>
struct Words<ControlType> {
  static constexpr std::array<std::string_view, 4> list{"SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"};
};
template <>
struct Words<SetBy> {
  static constexpr std::array<std::string_view, 2> list{"CLIENT", "PROVIDER"};
};
template <>
struct Words<Ledger> {
  static constexpr std::array<std::string_view, 5> list{"ETHEREUM", "SOLANA", "INK", "XLAYER",
                                                        "ARBITRUM_ONE"};
};
template <>
struct Words<ClaimStatus> {
  static constexpr std::array<std::string_view, 4> list{"PENDING", "SUBMITTED", "CONFIRMED",
                                                        "FAILED"};
};
template <>
struct Words<ScheduleType> {
  static constexpr std::array<std::string_view, 1> list{"DAILY"};
};
template <>
struct Words<Order> {
  static constexpr std::array<std::string_view, 2> list{"DESC", "ASC"};
};
template <>
struct Words<IdentityStatus> {
  static constexpr std::array<std::string_view, 3> list{"APPROVED", "DISABLED", "ERROR"};
};
template <>
struct Words<Action> {
  static constexpr std::array<std::string_view, 4> list{"BUY", "SELL", "DEPOSIT", "WITHDRAW"};
};

template <class E>
concept ClosedSet = requires { Words<E>::list; };

template <ClosedSet E>
constexpr std::string_view word(E value) {
  const auto code = static_cast<std::size_t>(value);
  // A damaged store can hold any code.
  return code < Words<E>::list.size() ? Words<E>::list[code] : "(unknown)";
}

template <ClosedSet E>
constexpr std::optional<E> find_word(std::string_view text) {
  for (std::size_t code = 0; code < Words<E>::list.size(); ++code) {
    if (Words<E>::list[code] == text) return static_cast<E>(code);
  }
  return std::nullopt;
}

}  // namespace comptroller
