// Completes a request with what its fields declare: other names, defaults, and ledger addresses.
#pragma once

#include <string>
#include <utility>

#include "model/error.hpp"
#include "model/ledger_address.hpp"
#include "model/request_traits.hpp"

namespace comptroller::service {

// Moves the value of a field that is another name of a field there. Throws invalid_request if both
// are given and differ.
template <class Alias, Record Request>
void resolve_alias(Request& request) {
  for_each_field<Request>([&]<class F>() {
    if constexpr (F::name == Alias::alias_of) {
      const auto given = std::exchange(request.*Alias::member, std::nullopt);
      auto& member = request.*F::member;
      if (!given) return;
      if (member && *member != *given) {
        throw Error::invalid(F::name,
                             "differs from " + std::string(Alias::name) + "; send one of them");
      }
      member = given;
    }
  });
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

// Resolves the aliases of a request, sets the omitted members that have a default for the caller,
// and converts addresses to their stored form. To be called once, after the request is read.
template <Record Request>
void complete(Request& request, const Principal& principal) {
  for_each_field<Request>([&]<class F>() {
    using T = bare<typename F::Type>;
    if constexpr (requires { F::alias_of; }) {
      resolve_alias<F>(request);
    } else if constexpr (requires { F::template default_for<T>(principal); }) {
      auto& member = request.*F::member;
      if (!member) member = F::template default_for<T>(principal);
    } else if constexpr (names_customer<T>) {  // of a record that the operator puts
      if (customer_of(request).empty()) customer_of(request) = default_customer;
    } else if constexpr (requires { F::is_ledger_address; }) {
      canonicalise_address<F>(request);
    }
  });
}

}  // namespace comptroller::service
