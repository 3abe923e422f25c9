// The effect of requests on records. Pure.
#pragma once

#include <algorithm>
#include <concepts>

#include "model/scalar.hpp"

namespace comptroller::rules {

// Returns the updated_at of a change made now. It is always later than `before`, even if `before`
// came from a clock that was ahead, so that a load recognises the newer of two records.
inline UpdatedAt changed_at(Timestamp now, const UpdatedAt& before) {
  const Timestamp next{before.microseconds + 1};
  return UpdatedAt{std::min(std::max(now, next), latest_timestamp)};
}

// Returns `now`, or `earlier` if that is later, because clocks differ or this write has waited.
inline Timestamp not_before(Timestamp earlier, Timestamp now) {
  return std::max(earlier, now);
}

// Sets the members of `record` that the request gives under the same name and type. Returns whether
// the request gave any.
template <Record R, Record Request>
bool set_given(R& record, const Request& request) {
  bool is_any_given = false;
  for_each_field<Request>([&]<class F>() {
    using T = typename F::Type;
    const T& given = request.*F::member;
    for_each_field<R>([&]<class G>() {
      if constexpr (F::name == G::name && std::same_as<bare<T>, bare<typename G::Type>>) {
        if constexpr (is_optional<T>) {
          if (!given) return;
          if constexpr (is_optional<typename G::Type>) {
            record.*G::member = given;
          } else {
            record.*G::member = *given;
          }
        } else {
          record.*G::member = given;
        }
        is_any_given = true;
      }
    });
  });
  return is_any_given;
}

}  // namespace comptroller::rules
