// Closed sets of values. The store holds a value as its position, so new values may only be added
// at the end of a released list.
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

// A value of a closed set: its text, and its meaning in the API description.
struct EnumValue {
  std::string_view text;
  std::string_view meaning;
};

// The values of an enum in the order of its enumerators; empty for types that are not closed sets.
template <class E>
inline constexpr std::array<EnumValue, 0> values_of{};

template <>
inline constexpr auto values_of<ControlType> = std::to_array<EnumValue>({
    {"SELL_ONLY", "the identity may only sell"},
    {"CLOSED", "the identity is closed and may do nothing"},
    {"FROZEN", "the identity is frozen for compliance reasons; only the operator sets it"},
    {"DORMANT", "the identity is dormant because it was inactive"},
});
template <>
inline constexpr auto values_of<SetBy> = std::to_array<EnumValue>({
    {"CLIENT", "a client of the identity's customer"},
    {"PROVIDER", "the operator of the service"},
});
template <>
inline constexpr auto values_of<Ledger> = std::to_array<EnumValue>({
    {"ETHEREUM", "Ethereum; addresses are 20 bytes in hex"},
    {"SOLANA", "Solana; addresses are 32 bytes in base58"},
    {"INK", "Ink; same address format as ETHEREUM"},
    {"XLAYER", "X Layer; same address format as ETHEREUM"},
    {"ARBITRUM_ONE", "Arbitrum One; same address format as ETHEREUM"},
});
template <>
inline constexpr auto values_of<ClaimStatus> = std::to_array<EnumValue>({
    {"PENDING", "not yet sent to the chain"},
    {"SUBMITTED", "sent to the chain, not yet confirmed"},
    {"CONFIRMED", "confirmed by the chain; final"},
    {"FAILED", "the claim failed; final"},
});
template <>
inline constexpr auto values_of<ScheduleType> = std::to_array<EnumValue>({
    {"DAILY", "rewards are claimed once a day"},
});
template <>
inline constexpr auto values_of<Order> = std::to_array<EnumValue>({
    {"DESC", "newest first"},
    {"ASC", "oldest first"},
});
template <>
inline constexpr auto values_of<IdentityStatus> = std::to_array<EnumValue>({
    {"APPROVED", "no control is active"},
    {"DISABLED", "at least one control is active, and none is FROZEN"},
    {"ERROR", "a FROZEN control is active"},
});
template <>
inline constexpr auto values_of<Action> = std::to_array<EnumValue>({
    {"BUY", "buy assets"},
    {"SELL", "sell assets; the only action that SELL_ONLY permits"},
    {"DEPOSIT", "pay funds in"},
    {"WITHDRAW", "pay funds out"},
});

// The texts of the values of an enum in the order of its enumerators; empty for types that are not
// closed sets.
template <class E>
inline constexpr auto enum_texts = [] {
  std::array<std::string_view, values_of<E>.size()> texts{};
  for (std::size_t code = 0; code < texts.size(); ++code) texts[code] = values_of<E>[code].text;
  return texts;
}();

template <class E>
concept ClosedSet = !enum_texts<E>.empty();

template <ClosedSet E>
constexpr std::string_view enum_text(E value) {
  const auto code = static_cast<std::size_t>(value);
  // A damaged store may hold an unknown code.
  return code < enum_texts<E>.size() ? enum_texts<E>[code] : "(unknown)";
}

template <ClosedSet E>
constexpr std::optional<E> find_enum(std::string_view text) {
  for (std::size_t code = 0; code < enum_texts<E>.size(); ++code) {
    if (enum_texts<E>[code] == text) return static_cast<E>(code);
  }
  return std::nullopt;
}

}  // namespace comptroller
