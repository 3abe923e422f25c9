// The canonical text of a request, which is the same for all equivalent requests. Idempotency keys
// and page cursors compare it.
#pragma once

#include <algorithm>

#include "json/writer.hpp"
#include "model/ledger_address.hpp"
#include "model/principal.hpp"
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

// Converts the addresses of a request to their stored form. An address in a filter may omit the
// ledger, because all EVM ledgers have the same address format. An invalid address is left
// unchanged; the operation rejects it later.
template <Record Request>
void canonicalise_addresses(Request& request) {
  if constexpr (requires { request.ledger; }) {
    const auto convert = [&](auto& address) {
      if constexpr (is_optional<decltype(request.ledger)>) {
        const Ledger ledger = request.ledger.value_or(Ledger::ethereum);
        if (address) address->value = sought_address(ledger, address->value);
      } else {
        address.value = canonical_address(request.ledger, address.value).value_or(address.value);
      }
    };
    if constexpr (requires { request.address; }) convert(request.address);
    if constexpr (requires { request.claimer_address; }) convert(request.claimer_address);
  }
}

template <Record Request>
std::string canonical_text(Request request, const Principal& principal) {
  for_each_field<Request>([&]<class F>() { canonicalise(request.*F::member); });
  canonicalise_addresses(request);
  if constexpr (std::derived_from<Request, OfCustomer>) {
    if (!request.customer_id && principal.customer) request.customer_id = Id{*principal.customer};
  } else if constexpr (std::same_as<Request, DeleteControl>) {
    if (!request.control_id) request.control_id = std::exchange(request.id, std::nullopt);
  }
  return json::to_text(request);
}

}  // namespace comptroller::service
