// The canonical text of a complete request, which is the same for all requests with the same
// meaning. Idempotency keys and page cursors compare it.
#pragma once

#include <algorithm>

#include "json/writer.hpp"
#include "model/ledger_address.hpp"
#include "model/requests.hpp"

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

// Converts an address of a request to its stored form. An address in a filter may omit the ledger,
// because all EVM ledgers have the same address format. An invalid address is left unchanged; the
// operation rejects it later.
template <class F, Record Request>
void canonicalise_address(Request& request) {
  auto& address = request.*F::member;
  if constexpr (is_optional<typename F::Type>) {
    const Ledger ledger = request.ledger.value_or(Ledger::ethereum);
    if (address) address->value = sought_address(ledger, address->value);
  } else {
    address.value = canonical_address(request.ledger, address.value).value_or(address.value);
  }
}

template <Record Request>
void canonicalise_addresses(Request& request) {
  for_each_field<Request>([&]<class F>() {
    if constexpr (requires { F::is_ledger_address; }) canonicalise_address<F>(request);
  });
}

template <Record Request>
std::string canonical_text(Request request) {
  for_each_field<Request>([&]<class F>() { canonicalise(request.*F::member); });
  canonicalise_addresses(request);
  return json::to_text(request);
}

}  // namespace comptroller::service
