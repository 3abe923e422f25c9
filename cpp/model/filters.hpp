// How the fields of a list's request select rows. Each filter names the index that serves it, so
// that a page costs the same whatever the size of the store.
#pragma once

#include <optional>

#include "model/fields.hpp"

namespace comptroller {

// An index as the migrations define it. It ends in the column that the list is sorted by; the key,
// which breaks ties, ends every index by itself unless `key` names another column.
struct Index {
  std::string_view name;                        // empty: that of a UNIQUE constraint
  std::string_view columns;                     // separated by ", "
  std::string_view where = std::string_view();  // of a partial index
  std::string_view table = std::string_view();  // empty: the listed table
  std::string_view time = "created_at";
  std::string_view key = "key";
};

// Rows whose column, stored as a T is, equals the value or one of the values. Between the column
// and the time an index may have a closed set, whose values are then enumerated.
template <Literal Column, class T, const Index& By>
struct Equals {
  static constexpr std::string_view column = Column.view();
  static constexpr const Index& index = By;  // NOLINT(readability-redundant-parentheses): has none
  using Stored = T;
};

// Rows that at least one of the filters selects.
template <class... F>
struct AnyOf {};

// Rows whose column, a text, begins with the value.
template <Literal Column, const Index& By>
struct BeginsWith {
  static constexpr std::string_view column = Column.view();
  static constexpr const Index& index = By;  // NOLINT(readability-redundant-parentheses): has none
};

// Rows created before, at or after the value: a range of the column that every index ends in.
enum class Bound { before, until, at, from, after };
template <Bound B>
struct Created {
  static constexpr Bound bound = B;
};

// A condition that no index serves, added by the repository. It is applied to the rows that another
// index finds, so a page may pass over many rows.
struct Narrows {};

// A condition that every index of the list continues with, added by the repository.
struct Continues : Narrows {};

// How many ranges of indexes, each in the order of the list, one value of a filter adds to a page.
// 0: it only narrows the rows that other filters or the time find, so that a page may pass over any
// number of rows. nullopt: it costs nothing, or selects no rows.
template <class F>
inline constexpr std::optional<std::size_t> ranges_a_value;
template <Literal Column, class T, const Index& By>
inline constexpr std::optional<std::size_t> ranges_a_value<Equals<Column, T, By>> = 1;
template <class... F>
inline constexpr std::optional<std::size_t> ranges_a_value<AnyOf<F...>> =
    (*ranges_a_value<F> + ...);
template <>
inline constexpr std::optional<std::size_t> ranges_a_value<Continues> = 1;
template <>
inline constexpr std::optional<std::size_t> ranges_a_value<Narrows> = 0;
// Many rows that share a prefix are found by time.
template <Literal Column, const Index& By>
inline constexpr std::optional<std::size_t> ranges_a_value<BeginsWith<Column, By>> = 0;

// The type of a column that holds the key of the row of R with the given id.
template <class R>
struct KeyOf {};

namespace detail {
template <class F, class Visit>
void visit_indexes(F, Visit& visit) {
  if constexpr (requires { F::index; }) visit(F::index);
}
template <class... F, class Visit>
void visit_indexes(AnyOf<F...>, Visit& visit) {
  (visit_indexes(F{}, visit), ...);
}
}  // namespace detail

// Calls `visit(index)` for the index that gives a list its order and those of its filters.
template <class Request, class Visit>
void for_each_index(Visit&& visit) {
  visit(Request::by_time);
  for_each_field<Request>([&]<class F>() { detail::visit_indexes(typename F::Filter{}, visit); });
}

}  // namespace comptroller
