// The fields of a record. FIELD declares a member with its meaning, in the order of the field
// table:
//
//   struct FailReason {
//     RECORD(FailReason, "The reason why an orchestration failed.");
//     FIELD(std::optional<Note>, detail, "why it failed, in prose");
//   };
//
// Reading and writing JSON, SQL columns, Arrow columns and the description (service/describe.hpp)
// all iterate over the table:
//
//   for_each_field<Claim>([&]<class F>() { write(F::name, claim.*F::member); });
//
// Name, member and doc are compile-time constants inside the visitor.
#pragma once

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace comptroller {

template <std::size_t N>
struct Literal {
  char text[N]{};
  constexpr Literal(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

namespace detail {
// The name of a member as its definition spells it.
template <auto Member>
constexpr std::string_view member_name() {
  // "... [with auto Member = &comptroller::Claim::id; ...]" (gcc), "... [Member = &...]" (clang).
  constexpr std::string_view signature = __PRETTY_FUNCTION__;
  constexpr std::string_view qualified = signature.substr(0, signature.find_first_of(";]"));
  return qualified.substr(qualified.rfind(':') + 1);
}
template <class R, class T>
T type_of(T R::*);
}  // namespace detail

// The Filter of a field by which lists are not filtered.
struct NoFilter {};

// The traits of a field: flags in the API description, a name, and a filter (model/filters.hpp).
struct Nullable {  // written as null while it is unset, instead of being left out; read from null
  static constexpr bool shows_null = true;
};
struct Deprecated {  // another field or operation replaces it
  static constexpr bool is_deprecated = true;
};
struct Derived {  // from other records
  static constexpr bool is_derived = true;
};
template <Literal Of>
struct AliasOf {  // another name of the field `Of`
  static constexpr std::string_view alias_of = Of.view();
};
template <Literal Name>
struct Named {  // instead of the name of the member
  static constexpr std::string_view other_name = Name.view();
};

namespace detail {
template <class... Trait>
struct Traits : Trait... {};

template <auto Member, class Given>
constexpr std::string_view field_name() {
  if constexpr (requires { Given::other_name; }) return Given::other_name;
  return member_name<Member>();
}
template <class Given>
auto filter_of() {
  if constexpr (requires { typename Given::Filter; }) {
    return typename Given::Filter{};
  } else {
    return NoFilter{};
  }
}
}  // namespace detail

// A field of a record. A list's request selects rows by its filter.
template <auto Member, Literal Doc = "", class... Trait>
struct Field : Trait... {
  using Type = decltype(detail::type_of(Member));
  using Filter = decltype(detail::filter_of<detail::Traits<Trait...>>());
  static constexpr std::string_view name = detail::field_name<Member, detail::Traits<Trait...>>();
  static constexpr std::string_view doc = Doc.view();
  static constexpr auto member = Member;
};
template <class F>
inline constexpr bool shows_null = false;
template <class F>
  requires requires { F::shows_null; }
inline constexpr bool shows_null<F> = F::shows_null;

template <class... F>
struct Fields {};
template <class... F, class... G>
Fields<F..., G...> operator+(Fields<F...>, Fields<G...>);

namespace detail {
// A line of a record, counted from that of RECORD. FIELD on line n declares `declared(Line<n>)`. A
// call with Line<120> converts its argument to the nearest base for which there is an overload, so
// it finds the last field; a call with the line before that field finds the field before it, and so
// on to the first.
template <int Number>
struct Line : Line<Number - 1> {};
template <>
struct Line<0> {};

inline constexpr int max_lines = 120;
consteval int checked_line(int number) {
  if (number > 0 && number <= max_lines) return number;
  throw std::out_of_range("a record has at most 120 lines");
}

// What a line declares.
template <int Number, class F>
struct Declared {
  static constexpr int line = Number;
  using fields = F;
};

// Returns the fields that R declares up to a line.
template <class R, int Last = max_lines>
auto declared_fields() {
  if constexpr (Last == 0) {
    return Fields<>{};
  } else if constexpr (requires { R::declared(Line<Last>{}); }) {
    using Found = decltype(R::declared(Line<Last>{}));
    return decltype(declared_fields<R, Found::line - 1>() + typename Found::fields{}){};
  } else {
    return Fields<>{};
  }
}
}  // namespace detail

template <class R>
concept Record = std::same_as<typename R::ThisRecord, R>;

// The field table of a record, its length, and the joined tables of several records.
template <Record R>
using FieldsOf = decltype(detail::declared_fields<R>());
template <Record R>
inline constexpr std::size_t field_count =
    []<class... F>(Fields<F...>) { return sizeof...(F); }(FieldsOf<R>{});
template <Record... R>
using JoinedFieldsOf = decltype((FieldsOf<R>{} + ...));

// Begins a record: its name, and its meaning in the API description.
#define RECORD(Name, ...)                                      \
  using ThisRecord = Name;                                     \
  static constexpr int line_before = __LINE__ - 1;             \
  [[maybe_unused]] static constexpr std::string_view meaning { \
    __VA_ARGS__                                                \
  }
// Adds fields to the table of a record at this place.
#define ADD_FIELDS(...)                                                         \
  static ::comptroller::detail::Declared<                                       \
      ::comptroller::detail::checked_line(__LINE__ - line_before), __VA_ARGS__> \
      declared(::comptroller::detail::Line<__LINE__ - line_before>)
// Adds a member that a base declares, with its meaning here and its traits.
#define BASE_FIELD(member, ...) \
  ADD_FIELDS(                   \
      ::comptroller::Fields<::comptroller::Field<&ThisRecord::member __VA_OPT__(, ) __VA_ARGS__>>)
// Declares a member, with its meaning and its traits.
#define FIELD(Type, member, ...) \
  Type member{};                 \
  BASE_FIELD(member, __VA_ARGS__)
// Adds the fields of bases.
#define FIELDS_OF(...) ADD_FIELDS(::comptroller::JoinedFieldsOf<__VA_ARGS__>)

// Calls `visitor.operator()<F>()` for every field of R, in order.
template <Record R, class Visitor>
constexpr void for_each_field(Visitor&& visitor) {
  [&]<class... F>(Fields<F...>) { (visitor.template operator()<F>(), ...); }(FieldsOf<R>{});
}

// Does the same with the field's position: `visitor.operator()<F, I>()`.
template <Record R, class Visitor>
constexpr void for_each_indexed_field(Visitor&& visitor) {
  [&]<class... F, std::size_t... I>(Fields<F...>, std::index_sequence<I...>) {
    (visitor.template operator()<F, I>(), ...);
  }(FieldsOf<R>{}, std::make_index_sequence<field_count<R>>{});
}

// The names of all fields of R, in order.
template <Record R>
inline constexpr auto field_names = [] {
  std::array<std::string_view, field_count<R>> names{};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() { names[I] = F::name; });
  return names;
}();

}  // namespace comptroller
