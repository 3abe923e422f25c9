// The field table that a record ends with: one line per field. Reading and writing JSON, SQL
// columns, Arrow columns and the description (service/describe.hpp) all iterate over it:
//
//   for_each_field<Claim>([&]<class F>() { write(F::name, claim.*F::member); });
//
// Name, member and doc are compile-time constants inside the visitor.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
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

// The filter of a field that selects no rows of a list.
struct NoFilter {};

// A field of a record. Its name is the member's name unless `Name` is given. In the request of a
// list, `Selects` is its filter (model/filters.hpp).
template <auto Member, Literal Doc = "", Literal Name = "", class Selects = NoFilter>
struct Field {
  using Type = decltype(detail::type_of(Member));
  using Filter = Selects;
  static constexpr std::string_view name =
      Name.view().empty() ? detail::member_name<Member>() : Name.view();
  static constexpr std::string_view doc = Doc.view();
  static constexpr auto member = Member;
};

template <class... F>
struct Fields {
  static constexpr std::size_t count = sizeof...(F);
};

// The fields of a record that the description does not contain.
template <auto... Member>
using Members = Fields<Field<Member>...>;

// A field that is written as null while it is unset, instead of being left out, and read from null.
template <class F>
struct Nullable : F {
  static constexpr bool shows_null = true;
};
template <class F>
inline constexpr bool shows_null = requires { F::shows_null; };

// Flags of a field in the API description.
template <class F>
struct Deprecated : F {  // another field or operation replaces it
  static constexpr bool is_deprecated = true;
};
template <class F>
struct Derived : F {  // computed from other records
  static constexpr bool is_derived = true;
};
template <class F, Literal Of>
struct AliasOf : F {  // another name of the field `Of`
  static constexpr std::string_view alias_of = Of.view();
};

namespace detail {
template <class... F>
Fields<F...> list_of(Fields<F...>);
template <class F>
Fields<F> list_of(F);
}  // namespace detail

template <class... F, class... G>
Fields<F..., G...> operator+(Fields<F...>, Fields<G...>);

// Joins fields and lists of fields, so that records can share some fields (paging, time bounds).
template <class... Parts>
using Concatenate = decltype((detail::list_of(Parts{}) + ...));

template <class R>
concept Record = requires { R::fields::count; };

// Calls `visitor.operator()<F>()` for every field of R, in order.
template <Record R, class Visitor>
constexpr void for_each_field(Visitor&& visitor) {
  [&]<class... F>(Fields<F...>) { (visitor.template operator()<F>(), ...); }(typename R::fields{});
}

// Does the same with the field's position: `visitor.operator()<F, I>()`.
template <Record R, class Visitor>
constexpr void for_each_indexed_field(Visitor&& visitor) {
  [&]<class... F, std::size_t... I>(Fields<F...>, std::index_sequence<I...>) {
    (visitor.template operator()<F, I>(), ...);
  }(typename R::fields{}, std::make_index_sequence<R::fields::count>{});
}

// The names of all fields of R, in order.
template <Record R>
inline constexpr auto field_names = [] {
  std::array<std::string_view, R::fields::count> names{};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() { names[I] = F::name; });
  return names;
}();

}  // namespace comptroller
