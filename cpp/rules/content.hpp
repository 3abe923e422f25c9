// Whether two records have equal content, member by member: amounts are compared as numbers, times
// as instants, metadata in any order. The customer is not compared.
#pragma once

#include "model/records.hpp"

namespace comptroller::rules {

template <Record R>
bool same_content(const R& a, const R& b) {
  bool same = true;
  for_each_field<R>([&]<class F>() {
    using T = typename F::Type;
    const T& left = a.*F::member;
    const T& right = b.*F::member;
    if constexpr (std::same_as<bare<T>, OwnerId> || std::same_as<bare<T>, CustomerId> ||
                  std::same_as<bare<T>, SnapshotBalance>) {
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
