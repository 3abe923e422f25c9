// When a change counts as made. Pure.
#pragma once

#include <algorithm>

#include "model/scalar.hpp"

namespace comptroller::rules {

// The updated_at of a change made now: later than what it changes, although that may come from a
// clock ahead of this one, so that a load takes no older record for a newer one.
inline UpdatedAt changed_at(Timestamp now, const UpdatedAt& before) {
  const Timestamp next{before.microseconds + 1};
  return UpdatedAt{std::min(std::max(now, next), latest_timestamp)};
}

}  // namespace comptroller::rules
