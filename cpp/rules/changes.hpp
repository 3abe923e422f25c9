// The updated_at of changes. Pure.
#pragma once

#include <algorithm>

#include "model/scalar.hpp"

namespace comptroller::rules {

// The updated_at of a change made now. It is later than the previous one even if that came from a
// clock ahead of this one, so that a load never takes the older record for the newer.
inline UpdatedAt changed_at(Timestamp now, const UpdatedAt& before) {
  const Timestamp next{before.microseconds + 1};
  return UpdatedAt{std::min(std::max(now, next), latest_timestamp)};
}

}  // namespace comptroller::rules
