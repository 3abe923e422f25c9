// Closed sets of values. The store holds a value as its position, so new values may only be added
// at the end of a released list.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "model/ascii.hpp"
#include "model/fields.hpp"

namespace comptroller {

// A value of a closed set: its text, and its meaning in the API description.
struct EnumValue {
  std::string_view text;
  std::string_view meaning;
};

// The values of an enum in the order of its enumerators; empty for types that are not closed sets.
template <class E>
inline constexpr std::array<EnumValue, 0> values_of{};

namespace detail {
// A name of C++ in another spelling.
template <Literal Name, char (*spell)(char)>
inline constexpr auto spelled = [] {
  auto text = Name;
  std::ranges::transform(text.view(), text.text, spell);
  return text;
}();
constexpr char to_dash(char character) {
  return character == '_' ? '-' : character;
}
}  // namespace detail

// Declares a closed set from its rows, one per value: the name, which is its text in lower case,
// and the meaning.
#define COMPTROLLER_ENUMERATOR(name, ...) name,
#define COMPTROLLER_VALUE(name, meaning) \
  {::comptroller::detail::spelled<#name, ::comptroller::to_upper>.view(), meaning},
#define COMPTROLLER_CLOSED_SET(Name, ROWS)                         \
  enum class Name : std::uint8_t { ROWS(COMPTROLLER_ENUMERATOR) }; \
  template <>                                                      \
  inline constexpr auto values_of<Name> = std::to_array<EnumValue>({ROWS(COMPTROLLER_VALUE)})

#define COMPTROLLER_CONTROL_TYPE(ROW)                                                     \
  ROW(sell_only, "the identity may only sell")                                            \
  ROW(closed, "the identity is closed and may do nothing")                                \
  ROW(frozen, "the identity is frozen for compliance reasons; only the operator sets it") \
  ROW(dormant, "the identity is dormant because it was inactive")
COMPTROLLER_CLOSED_SET(ControlType, COMPTROLLER_CONTROL_TYPE);

#define COMPTROLLER_SET_BY(ROW)                      \
  ROW(client, "a client of the identity's customer") \
  ROW(provider, "the operator of the service")
COMPTROLLER_CLOSED_SET(SetBy, COMPTROLLER_SET_BY);

#define COMPTROLLER_LEDGER(ROW)                            \
  ROW(ethereum, "Ethereum; addresses are 20 bytes in hex") \
  ROW(solana, "Solana; addresses are 32 bytes in base58")  \
  ROW(ink, "Ink; same address format as ETHEREUM")         \
  ROW(xlayer, "X Layer; same address format as ETHEREUM")  \
  ROW(arbitrum_one, "Arbitrum One; same address format as ETHEREUM")
COMPTROLLER_CLOSED_SET(Ledger, COMPTROLLER_LEDGER);

#define COMPTROLLER_CLAIM_STATUS(ROW)                    \
  ROW(pending, "not yet sent to the chain")              \
  ROW(submitted, "sent to the chain, not yet confirmed") \
  ROW(confirmed, "confirmed by the chain; final")        \
  ROW(failed, "the claim failed; final")
COMPTROLLER_CLOSED_SET(ClaimStatus, COMPTROLLER_CLAIM_STATUS);

#define COMPTROLLER_SCHEDULE_TYPE(ROW) ROW(daily, "rewards are claimed once a day")
COMPTROLLER_CLOSED_SET(ScheduleType, COMPTROLLER_SCHEDULE_TYPE);

#define COMPTROLLER_ORDER(ROW) \
  ROW(desc, "newest first")    \
  ROW(asc, "oldest first")
COMPTROLLER_CLOSED_SET(Order, COMPTROLLER_ORDER);

#define COMPTROLLER_IDENTITY_STATUS(ROW)                              \
  ROW(approved, "no control is active")                               \
  ROW(disabled, "at least one control is active, and none is FROZEN") \
  ROW(error, "a FROZEN control is active")
COMPTROLLER_CLOSED_SET(IdentityStatus, COMPTROLLER_IDENTITY_STATUS);

#define COMPTROLLER_ACTION(ROW)                                    \
  ROW(buy, "buy assets")                                           \
  ROW(sell, "sell assets; the only action that SELL_ONLY permits") \
  ROW(deposit, "pay funds in")                                     \
  ROW(withdraw, "pay funds out")
COMPTROLLER_CLOSED_SET(Action, COMPTROLLER_ACTION);

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
