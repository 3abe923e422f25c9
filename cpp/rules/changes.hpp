// How requests change records. Pure.
#pragma once

#include <algorithm>
#include <concepts>

#include "model/scalar.hpp"

namespace comptroller::rules {

// The updated_at of a change made now. It is later than the previous one even if that came from a
// clock ahead of this one, so that a load never takes the older record for the newer.
inline UpdatedAt changed_at(Timestamp now, const UpdatedAt& before) {
  const Timestamp next{before.microseconds + 1};
  return UpdatedAt{std::min(std::max(now, next), latest_timestamp)};
}

// Sets the members of `record` that the request gives under the same name and type. Returns whether
// there was one.
template <Record R, Record Request>
bool set_given(R& record, const Request& request) {
  bool is_changed = false;
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
        is_changed = true;
      }
    });
  });
  return is_changed;
}

}  // namespace comptroller::rules
