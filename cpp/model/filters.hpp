// The filters of lists. Each filter names the index that serves it, so that a page visits few rows
// that do not match.
#pragma once

#include <optional>

#include "model/fields.hpp"

namespace comptroller {

// An index as the migrations define it. Its last column is `time`, by which the list is sorted.
// Rows of equal time are sorted by the key, which SQLite appends to every index, unless `key` names
// another column.
struct Index {
  std::string_view columns;                     // separated by ", "
  std::string_view where = std::string_view();  // of a partial index
  std::string_view table = std::string_view();  // empty: the listed table
  std::string_view time = "created_at";
  std::string_view key = "key";
  // The columns of the index of the other table, with the same condition, by this key.
  std::string_view by_key = std::string_view();
};

namespace detail {
template <Literal... Parts>
inline constexpr auto joined = [] {
  std::array<char, (Parts.view().size() + ...)> text{};
  auto end = text.begin();
  ((end = std::ranges::copy(Parts.view(), end).out), ...);
  return text;
}();
template <Literal... Parts>
inline constexpr std::string_view join{joined<Parts...>.data(), joined<Parts...>.size()};
}  // namespace detail

// The usual indexes of a list: the customer, the columns of a filter, the time. The second has no
// rows without a value.
template <Literal Columns>
inline constexpr Index of_customer{detail::join<"customer_id, ", Columns, ", created_at">};
template <Literal Column>
inline constexpr Index sparse_of_customer{of_customer<Column>.columns,
                                          detail::join<Column, " IS NOT NULL">};

// Selects rows whose column equals the value or one of the values; the column stores a T. If the
// index has a closed-set column between this column and the time, the list enumerates the values of
// the closed set.
template <Literal Column, class T, const Index& By = of_customer<Column>>
struct Equals {
  using Filter = Equals;
  static constexpr std::size_t ranges = 1;
  static constexpr std::string_view column = Column.view();
  static constexpr const Index& index = By;  // NOLINT(readability-redundant-parentheses)
};

// Selects rows whose column is the id of a payout group. Rows may name a group that is not stored,
// whose customer is unknown.
template <Literal Column, const Index& By>
struct IsGroup {
  using Filter = IsGroup;
  static constexpr std::size_t ranges = 1;
  static constexpr std::string_view column = Column.view();
  static constexpr const Index& index = By;  // NOLINT(readability-redundant-parentheses)
};

// Selects rows that match at least one of the filters.
template <class... F>
struct AnyOf {
  using Filter = AnyOf;
  static constexpr std::size_t ranges = (F::ranges + ...);
};

// Selects rows whose text column begins with the value. A list reads by time if many rows share the
// prefix.
template <Literal Column, const Index& By = of_customer<Column>>
struct BeginsWith {
  using Filter = BeginsWith;
  static constexpr std::size_t ranges = 0;
  static constexpr const Index& index = By;  // NOLINT(readability-redundant-parentheses)
};

// Selects rows created before, at or after the value: a range of the last column of every index.
enum class Bound { before, until, at, from, after };
template <Bound B>
struct Created {
  using Filter = Created;
};

// A condition that no index serves, added by listing_for (store/lists.hpp). It is applied to the
// rows that another index finds, so a page may visit many rows that do not match
// (store/streams.hpp: max_rows_visited).
struct Unindexed {
  using Filter = Unindexed;
  static constexpr std::size_t ranges = 0;
};

// Selects rows whose column, which stores a T, is before, at or after the value. No index serves
// it.
template <Literal Column, class T, Bound B = Bound::at>
struct Compares : Unindexed {
  using Filter = Compares;
};

// A condition on the next column of every index of the list, so the filter costs nothing; added by
// listing_for.
struct NextColumn {
  using Filter = NextColumn;
};

// The number of index ranges, each in the order of the list, that one value of a filter adds to a
// page. 0: the filter only narrows the rows found by other filters or by time, so a page may visit
// many rows that do not match. nullopt: the filter costs nothing, or the field is not a filter.
template <class F>
inline constexpr std::optional<std::size_t> ranges_per_value;
template <class F>
  requires requires { F::ranges; }
inline constexpr std::optional<std::size_t> ranges_per_value<F> = F::ranges;

// The type of a column that holds the key of the row of R with the given id.
template <class R>
struct KeyOf {
  using Referred = R;
};

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
