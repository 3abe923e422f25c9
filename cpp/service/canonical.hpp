// Requests as a text that all of them share that say the same, however they are spelled: what
// idempotency keys and page cursors are compared by.
#pragma once

#include <algorithm>

#include "json/writer.hpp"
#include "model/ledger_address.hpp"
#include "model/principal.hpp"
#include "model/requests.hpp"

namespace comptroller::service {

// The one form of an address that is given; what is none stays as it is, to be refused.
inline std::string address_form(Ledger ledger, const std::string& address) {
  return canonical_address(ledger, address).value_or(address);
}
// The one form of an address that is looked for, on one ledger or any.
inline std::string address_form(const std::optional<Ledger>& ledger, const std::string& address) {
  return sought_address(ledger.value_or(Ledger::ethereum), address);
}

template <class T>
void canonicalise_value(T& value) {
  if constexpr (is_optional<T>) {
    // An array that is no filter, such as a claim's addresses, keeps its order.
    if constexpr (!is_array<bare<T>>) {
      if (value) canonicalise_value(*value);
    }
  } else if constexpr (std::same_as<T, Metadata>) {
    std::ranges::sort(value.pairs);
  } else if constexpr (std::same_as<T, Amount> || std::same_as<T, NonNegativeAmount>) {
    value.text = format_scaled(scaled(value.text));
  }
}

// Alternatives may come in any order, and twice.
template <class T>
void canonicalise_value(std::vector<T>& alternatives) {
  std::ranges::sort(alternatives);
  const auto repeated = std::ranges::unique(alternatives);
  alternatives.erase(repeated.begin(), repeated.end());
}

template <Record Request>
void canonicalise_addresses(Request& request) {
  if constexpr (requires { request.ledger; }) {
    const auto canonicalise = [&](auto& address) {
      if constexpr (is_optional<std::remove_cvref_t<decltype(address)>>) {
        if (address) address->value = address_form(request.ledger, address->value);
      } else {
        address.value = address_form(request.ledger, address.value);
      }
    };
    if constexpr (requires { request.address; }) canonicalise(request.address);
    if constexpr (requires { request.claimer_address; }) canonicalise(request.claimer_address);
  }
}

template <Record Request>
std::string canonical_text(Request request, const Principal& principal) {
  for_each_field<Request>([&]<class F>() { canonicalise_value(request.*F::member); });
  canonicalise_addresses(request);
  if constexpr (std::derived_from<Request, OfCustomer>) {
    if (!request.customer_id && principal.customer) request.customer_id = Id{*principal.customer};
  } else if constexpr (std::same_as<Request, DeleteControl>) {
    if (!request.control_id) request.control_id = std::exchange(request.id, std::nullopt);
  }
  return json::to_text(request);
}

}  // namespace comptroller::service
