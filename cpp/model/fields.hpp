// The table a record ends with: one line a field, spelled once. Reading and writing JSON, SQL
// columns, Arrow columns and the published description are all walks over it:
//
//   for_each_field<Claim>([&]<class F>() { write(F::name, claim.*F::member); });
//
// Name, member and doc are compile-time constants inside the walk.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <string_view>
#include <type_traits>
#include <utility>

namespace comptroller {

template <std::size_t N>
struct Literal {
  char text[N]{};
  constexpr Literal(const char (&literal)[N]) { std::copy_n(literal, N, text); }
  constexpr std::string_view view() const { return {text, N - 1}; }
};

namespace detail {
template <class R, class T>
R record_of(T R::*);
template <class R, class T>
T type_of(T R::*);
}  // namespace detail

template <Literal Name, auto Member, Literal Doc>
struct Field {
  using Record = decltype(detail::record_of(Member));
  using Type = decltype(detail::type_of(Member));
  static constexpr std::string_view name = Name.view();
  static constexpr std::string_view doc = Doc.view();
  static constexpr auto member = Member;
};

template <class... F>
struct Fields {
  static constexpr std::size_t count = sizeof...(F);
};

// Several field lists as one, so that records share a run of fields (paging, time bounds).
template <class... Lists>
struct Concatenated;
template <class... F>
struct Concatenated<Fields<F...>> {
  using type = Fields<F...>;
};
template <class... F, class... G, class... Rest>
struct Concatenated<Fields<F...>, Fields<G...>, Rest...> {
  using type = typename Concatenated<Fields<F..., G...>, Rest...>::type;
};
template <class... Lists>
using Concatenate = typename Concatenated<Lists...>::type;

template <class R>
concept Record = requires { R::fields::count; };

namespace detail {
template <class Visitor, class... F>
constexpr void visit(Visitor& visitor, Fields<F...>) {
  (visitor.template operator()<F>(), ...);
}
template <class Visitor, class... F, std::size_t... I>
constexpr void visit(Visitor& visitor, Fields<F...>, std::index_sequence<I...>) {
  (visitor.template operator()<F, I>(), ...);
}
}  // namespace detail

// Calls `visitor.operator()<F>()` for every field of R, in order.
template <Record R, class Visitor>
constexpr void for_each_field(Visitor&& visitor) {
  detail::visit(visitor, typename R::fields{});
}

// The same with the field's position: `visitor.operator()<F, I>()`.
template <Record R, class Visitor>
constexpr void for_each_indexed_field(Visitor&& visitor) {
  detail::visit(visitor, typename R::fields{}, std::make_index_sequence<R::fields::count>{});
}

// The names of all fields of R, in order.
template <Record R>
inline constexpr auto field_names = [] {
  std::array<std::string_view, R::fields::count> names{};
  for_each_indexed_field<R>([&]<class F, std::size_t I>() { names[I] = F::name; });
  return names;
}();

}  // namespace comptroller
