// What all values have in common: they are read from text, they can say what they expect, and they
// have a text. A closed set gets all three from its words; every other scalar brings its own.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/amount.hpp"
#include "model/enums.hpp"
#include "model/error.hpp"
#include "model/identifier.hpp"
#include "model/text.hpp"
#include "model/timestamp.hpp"

namespace comptroller {

// The customer of a record whose specified shape names it.
struct CustomerId : Id {};

// The customer of a record whose specified shape does not name it: shown to the operator only.
struct OwnerId : Id {};

// A payout group, named by its UUID; many records name the same one.
struct GroupId : Uuid {};

// The last change of a record; a line of a load that lacks it takes created_at.
struct UpdatedAt : Timestamp {};

// A moment that has not come while it is null: the one member that is written as null.
struct NullableTimestamp {
  std::optional<Timestamp> value;
  friend bool operator==(const NullableTimestamp&, const NullableTimestamp&) = default;
};

// A balance that belongs to another table and is looked up when it is asked for.
struct SnapshotBalance : NonNegativeAmount {};

// A member that is known and passed over, whatever its value.
struct Ignored {};

struct PageLimit {
  static constexpr std::int32_t most = 1000;
  std::int32_t value = 100;
  static std::optional<PageLimit> parse(std::string_view text);
  static std::string expectation();
};

// A page cursor as it came; whether it is a good one is the list's to say.
struct PageCursor {
  std::string value;
  static std::optional<PageCursor> parse(std::string_view text);
  static std::string expectation();
};

template <class T>
inline constexpr bool is_optional = false;
template <class T>
inline constexpr bool is_optional<std::optional<T>> = true;
template <class T>
inline constexpr bool is_array = false;
template <class T>
inline constexpr bool is_array<std::vector<T>> = true;

namespace detail {
template <class T>
struct Bare {
  using type = T;
};
template <class T>
struct Bare<std::optional<T>> {
  using type = T;
};
}  // namespace detail

// The type of a field without its optional.
template <class T>
using bare = typename detail::Bare<T>::type;

// What a line of a load may lack although the record always has it: the load completes it.
template <class T>
inline constexpr bool is_completed_by_load =
    std::same_as<T, CustomerId> || std::same_as<T, UpdatedAt>;

template <class T>
std::optional<T> parse_scalar(std::string_view text) {
  if constexpr (ClosedSet<T>) {
    return find_word<T>(text);
  } else if constexpr (std::same_as<T, bool>) {
    if (text == "true") return true;
    if (text == "false") return false;
    return std::nullopt;
  } else if constexpr (requires {
                         { T::parse(text) } -> std::same_as<std::optional<T>>;
                       }) {
    return T::parse(text);
  } else {
    // What refines another scalar is read as that one.
    auto value = T::parse(text);
    if (!value) return std::nullopt;
    return T{*std::move(value)};
  }
}

// The phrase that completes "must be ...".
template <class T>
std::string expectation() {
  if constexpr (ClosedSet<T>) {
    std::string phrase = "one of";
    for (const std::string_view& word : words_of<T>) {
      phrase += &word == words_of<T>.data() ? " " : ", ";
      phrase += word;
    }
    return phrase;
  } else if constexpr (std::same_as<T, bool>) {
    return "true or false";
  } else {
    return T::expectation();
  }
}

// The refusal of a text that is no T, quoting a bounded part of it.
std::string refused_text(const std::string& expected, std::string_view text);

template <class T>
T require_scalar(std::string_view field, std::string_view text) {
  if (std::optional<T> value = parse_scalar<T>(text)) return *std::move(value);
  throw Error::invalid(field, refused_text(expectation<T>(), text));
}

}  // namespace comptroller
