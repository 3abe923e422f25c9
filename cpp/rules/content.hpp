// Whether two records say the same, member by member: amounts as numbers, times as instants, free
// pairs in any order. Whose record it is does not count; that is asked separately.
#pragma once

#include "model/records.hpp"

namespace comptroller::rules {

template <Record R>
bool same_content(const R& a, const R& b);

template <class T>
bool same_value_of(const T& a, const T& b) {
  if constexpr (is_optional<T>) {
    return a.has_value() == b.has_value() && (!a || same_value_of(*a, *b));
  } else if constexpr (Record<T>) {
    return same_content(a, b);
  } else {
    return a == b;
  }
}

template <Record R>
bool same_content(const R& a, const R& b) {
  bool same = true;
  for_each_field<R>([&]<class F>() {
    using T = bare<typename F::Type>;
    if constexpr (!std::same_as<T, OwnerId> && !std::same_as<T, CustomerId> &&
                  !std::same_as<T, SnapshotBalance>) {
      same = same && same_value_of(a.*F::member, b.*F::member);
    }
  });
  return same;
}

}  // namespace comptroller::rules
