// Completes a request with what its fields declare: other names and defaults.
#pragma once

#include <string>
#include <utility>

#include "model/error.hpp"
#include "model/requests.hpp"

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

// Resolves the aliases of a request, and sets the omitted members that have a default for the
// caller. To be called once, after the request is read.
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
    }
  });
}

}  // namespace comptroller::service
