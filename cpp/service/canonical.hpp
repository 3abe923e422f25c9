// The canonical text of a complete request, which is the same for all requests with the same
// meaning. Idempotency keys and page cursors compare it.
#pragma once

#include <algorithm>

#include "json/writer.hpp"
#include "model/scalar.hpp"

namespace comptroller::service {

// Replaces a value with its canonical representation.
template <class T>
void canonicalise(T& value) {
  if constexpr (requires { value.canonicalise(); }) value.canonicalise();
}
// The values of a filter are a set: sorts them and removes duplicates.
template <class T>
void canonicalise(std::vector<T>& alternatives) {
  std::ranges::sort(alternatives);
  const auto repeated = std::ranges::unique(alternatives);
  alternatives.erase(repeated.begin(), repeated.end());
}
// An optional list is not a filter, so its order is kept.
template <class T>
void canonicalise(std::optional<T>& value) {
  if (value && !is_array<T>) canonicalise(*value);
}

template <Record Request>
std::string canonical_text(Request request) {
  for_each_field<Request>([&]<class F>() { canonicalise(request.*F::member); });
  return json::to_text(request);
}

}  // namespace comptroller::service
