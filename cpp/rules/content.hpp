// Whether two records have equal content: amounts are compared as numbers, times as instants,
// metadata in any order. The customer is not compared; callers check it separately.
#pragma once

#include "model/scalar.hpp"

namespace comptroller::rules {

template <Record R>
bool same_content(const R& a, const R& b) {
  bool same = true;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    const T& left = a.*F::member;
    const T& right = b.*F::member;
    if constexpr (names_customer<bare<T>> || is_derived<bare<T>>) {
      return;
    } else if constexpr (Record<bare<T>>) {
      same &= left.has_value() == right.has_value() && (!left || same_content(*left, *right));
    } else {
      same &= left == right;
    }
  });
  return same;
}

}  // namespace comptroller::rules
