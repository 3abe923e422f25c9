// Traits of a field type: its parser, its name in the API description, the storage class of its
// column, and its view.
//
// A view is a light value that every output format can write: a text (std::string_view), a Packed
// text, a Decimal, a Timestamp, a member of a closed set, a bool, a number, JsonText, a list,
// pairs, or a record. A new scalar type is a class with these static members, which it may inherit
// from another scalar:
//
//   kind, storage             required for fields of stored records
//   assign or parse           required for values that are read from text (model/text.hpp); parse
//                             returns a value, or nullopt
//   expectation               with them, for their messages
//   minimum_length, maximum_length   of the text, in the API description
//   shown_to                  the only audience that sees the field
//   names_customer            the owner of the record; not compared as content
//   is_completed_by_load      the line of a load may omit it
//   is_derived                from other records: no column holds it, and input is ignored
//   default_of(record)        the value of an omitted member
//
// and with the members `value` (a text) or `view()`, and `canonicalise()` if equal values may have
// different representations.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <ranges>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "model/amount.hpp"
#include "model/enums.hpp"
#include "model/error.hpp"
#include "model/fields.hpp"
#include "model/identifier.hpp"
#include "model/storage_class.hpp"
#include "model/text.hpp"
#include "model/timestamp.hpp"
#include "model/type_name.hpp"
#include "model/wording.hpp"

namespace comptroller {

// The reader of an answer. Only the operator sees members with `shown_to` provider.
enum class Audience : std::uint8_t { client, provider };

// The customer of a record type that the specification gives a customer_id.
struct CustomerId : Id {
  static constexpr StorageClass storage = StorageClass::symbol;
  static constexpr bool names_customer = true;
  static constexpr bool is_completed_by_load = true;
};

// The customer of a record type that the specification gives no customer_id; shown to the operator
// only.
struct OwnerId : Id {
  static constexpr StorageClass storage = StorageClass::symbol;
  static constexpr bool names_customer = true;
  static constexpr Audience shown_to = Audience::provider;
};

// The UUID of a payout group; stored as a symbol because many records name the same group.
struct GroupId : Uuid {
  static constexpr StorageClass storage = StorageClass::symbol;
};

// The time of a record's last change. A load sets it to created_at if a line omits it.
struct UpdatedAt : Timestamp {
  static constexpr bool is_completed_by_load = true;
  template <class R>
  static UpdatedAt default_of(const R& record) {
    return {record.created_at};
  }
};

// A balance of the table `balances`, looked up on request.
struct SnapshotBalance : NonNegativeAmount {
  static constexpr bool is_derived = true;
};

// A derived member in a line of a load, whose value is ignored.
struct DerivedInput {
  static constexpr bool is_derived = true;
};

struct PageLimit {
  static constexpr std::string_view kind = "integer";
  static constexpr std::int32_t most = 1000;
  std::int32_t value = 100;
  static std::optional<PageLimit> parse(std::string_view text);
  static std::string expectation();
  std::int32_t view() const { return value; }
};

// A page cursor as received; the list validates it.
struct PageCursor {
  static constexpr std::string_view kind = "string";
  std::string value;
  bool assign(std::string_view text) {
    value = text;
    return true;
  }
  static std::string expectation() { return "the next_page_cursor of an earlier page"; }
};

template <class T>
inline constexpr bool is_array = false;
template <class T>
inline constexpr bool is_array<std::vector<T>> = true;

namespace detail {
template <class T>
T bare_of(std::type_identity<T>);
template <class T>
T bare_of(std::type_identity<std::optional<T>>);
template <class T>
T item_of(std::type_identity<T>);
template <class T>
T item_of(std::type_identity<std::vector<T>>);
}  // namespace detail

// The type of a field without its optional, and the type of the elements of an array.
template <class T>
using bare = decltype(detail::bare_of(std::type_identity<T>{}));
template <class T>
using item = decltype(detail::item_of(std::type_identity<T>{}));
template <class T>
inline constexpr bool is_optional = !std::same_as<T, bare<T>>;

// A text that is formatted from other bytes: `size` characters, none of which needs an escape.
template <class P>
concept Packed = requires(const P& packed, char* out) {
  packed.size();
  packed.write(out);
};
std::string text_of(const Packed auto& packed) {
  std::string text(packed.size(), '\0');
  packed.write(text.data());
  return text;
}

template <class T>
concept List = std::ranges::range<T> && !std::convertible_to<T, std::string_view>;
template <class T>
concept Pairs = List<T> && requires(std::ranges::range_value_t<T> pair) {
  pair.first;
  pair.second;
};

// The stored JSON text of a T.
template <class T>
struct JsonText {
  std::string_view text;

  // Throws unusable unless the text has the brackets of a T.
  std::string_view checked() const {
    constexpr std::string_view brackets = List<T> ? "[]" : "{}";
    if (text.size() > 1 && text.front() == brackets[0] && text.back() == brackets[1]) return text;
    throw Error::damaged("a document is cut off");
  }
};

template <class T>
concept Assigned = requires(T value, std::string_view text) {
  { value.assign(text) } -> std::same_as<bool>;
};

// The traits of the type T of a field: a scalar class, a plain type, a closed set, a list or a
// record.
template <class T>
struct FieldType {
  static constexpr StorageClass storage = T::storage;
  static std::string kind() { return std::string(T::kind); }
  static std::string expectation() { return T::expectation(); }
  static std::optional<T> parse(std::string_view text)
    requires Assigned<T> || requires { T::parse(text); }
  {
    if constexpr (Assigned<T>) {
      T value;
      if (!value.assign(text)) return std::nullopt;
      return value;
    } else {
      auto value = T::parse(text);  // a T, or the base class of T
      if constexpr (std::same_as<decltype(value), std::optional<T>>) return value;
      if (!value) return std::nullopt;
      return T{*std::move(value)};
    }
  }
};

template <>
struct FieldType<bool> {
  static constexpr StorageClass storage = StorageClass::boolean;
  static std::string kind() { return "boolean"; }
  static std::string expectation() { return "true or false"; }
  static std::optional<bool> parse(std::string_view text) {
    if (text != "true" && text != "false") return std::nullopt;
    return text == "true";
  }
};

template <ClosedSet E>
struct FieldType<E> {
  static constexpr StorageClass storage = StorageClass::code;
  static std::string kind() { return std::string(type_name<E>()); }
  static std::string expectation() { return "one of " + comma_separated(enum_texts<E>); }
  static std::optional<E> parse(std::string_view text) { return find_enum<E>(text); }
};

template <class T>
struct FieldType<std::vector<T>> {
  static constexpr StorageClass storage = StorageClass::addresses;  // the only list that is stored
  static std::string kind() { return FieldType<T>::kind() + "[]"; }
};

template <Record R>
struct FieldType<R> {
  static constexpr StorageClass storage = StorageClass::document;
  static std::string kind() { return std::string(type_name<R>()); }
};

// Returns the view of a value, which may refer to the value: that of a scalar class, otherwise the
// value itself.
template <class T>
decltype(auto) view_of(const T& value) {
  if constexpr (requires { value.view(); }) {
    return value.view();
  } else if constexpr (requires { std::string_view(value.value); }) {
    return std::string_view(value.value);
  } else {
    return std::as_const(value);
  }
}
template <class T>
using View = std::remove_cvref_t<decltype(view_of(std::declval<const T&>()))>;

template <class T>
concept Parsed = requires(std::string_view text) { FieldType<T>::parse(text); };
template <class T>
inline constexpr bool is_derived = false;
template <class T>
  requires requires { T::is_derived; }
inline constexpr bool is_derived<T> = T::is_derived;
template <class T>
inline constexpr bool is_completed_by_load = false;
template <class T>
  requires requires { T::is_completed_by_load; }
inline constexpr bool is_completed_by_load<T> = T::is_completed_by_load;
template <class T>
inline constexpr bool names_customer = false;
template <class T>
  requires requires { T::names_customer; }
inline constexpr bool names_customer<T> = T::names_customer;
// Whether a request or a line must have the member.
template <class T>
inline constexpr bool is_required = !is_optional<T> && !is_array<T>;
template <class T>
constexpr bool is_shown(Audience audience) {
  if constexpr (requires { T::shown_to; }) return audience == T::shown_to;
  return true;
}

// The customer_id of a record, required or optional; empty if it is unset.
template <Record R>
std::string& customer_of(R& record) {
  if constexpr (!is_optional<decltype(record.customer_id)>) {
    return record.customer_id.value;
  } else {
    if (!record.customer_id) record.customer_id.emplace();
    return record.customer_id->value;
  }
}
template <Record R>
std::string_view customer_of(const R& record) {
  if constexpr (!is_optional<decltype(record.customer_id)>) {
    return record.customer_id.value;
  } else {
    return record.customer_id ? std::string_view(record.customer_id->value) : std::string_view();
  }
}

// A member of a record, which may be unset.
template <class T>
struct MemberValue {
  const T* value;

  bool is_unset() const { return value == nullptr; }
  void visit(auto&& act) const { act(view_of(*value)); }
};

// A record as a source of field values; store::Row is the other source.
template <Record R>
struct RecordFields {
  const R& record;

  template <class F, std::size_t>
  auto field() const {
    const auto& member = record.*F::member;
    if constexpr (is_optional<typename F::Type>) {
      return MemberValue<bare<typename F::Type>>{member ? &*member : nullptr};
    } else {
      return MemberValue<typename F::Type>{&member};
    }
  }
};

// Returns "must be <expected>, not <the text, shortened>".
std::string refused_text(const std::string& expected, std::string_view text);

template <class T>
T require_scalar(std::string_view field, std::string_view text) {
  if (std::optional<T> value = FieldType<T>::parse(text)) return *std::move(value);
  throw Error::invalid(field, refused_text(FieldType<T>::expectation(), text));
}

}  // namespace comptroller
