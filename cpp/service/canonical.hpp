// The canonical text of a request, which all equivalent requests share. Idempotency keys and page
// cursors are compared by it.
#pragma once

#include <algorithm>

#include "json/writer.hpp"
#include "model/ledger_address.hpp"
#include "model/principal.hpp"
#include "model/requests.hpp"

namespace comptroller::service {

// Replaces a value by the representation that all equal values share.
template <class T>
void canonicalise(T& value) {
  if constexpr (requires { value.canonicalise(); }) value.canonicalise();
}
// Alternative values of a filter may come in any order, and repeatedly.
template <class T>
void canonicalise(std::vector<T>& alternatives) {
  std::ranges::sort(alternatives);
  const auto repeated = std::ranges::unique(alternatives);
  alternatives.erase(repeated.begin(), repeated.end());
}
// An optional list is no filter and keeps its order.
template <class T>
void canonicalise(std::optional<T>& value) {
  if (value && !is_array<T>) canonicalise(*value);
}

// Addresses that are given, and those of filters, on one ledger or any. An invalid one stays as it
// is, to be refused later.
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
