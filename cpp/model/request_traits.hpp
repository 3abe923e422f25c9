// Traits of the fields of requests, beside those of all fields (model/fields.hpp). A default is
// what a request means by an optional member that it omits. The service sets it when it has read
// the request, so that rules and lists find the value, and requests with the same meaning are
// equal.
#pragma once

#include <optional>

#include "model/principal.hpp"
#include "model/scalar.hpp"

namespace comptroller {

// An address on the ledger that the field `ledger` names.
struct LedgerAddress {
  static constexpr bool is_ledger_address = true;
};

template <auto Value>
struct Default {
  static constexpr auto default_value = Value;
  template <class T>
  static std::optional<T> default_for(const Principal&) {
    return T{Value};
  }
};

// Of a member that only the operator can set.
template <auto Value>
struct OperatorDefault : Default<Value> {
  template <class T>
  static std::optional<T> default_for(const Principal& principal) {
    if (!principal.is_operator()) return std::nullopt;
    return T{Value};
  }
};

// A client's own customer; the operator names none.
struct OwnCustomer {
  template <class T>
  static std::optional<T> default_for(const Principal& principal) {
    if (!principal.customer) return std::nullopt;
    return T{*principal.customer};
  }
};

// A client's own customer, `default` for the operator.
struct OwnerOfNew {
  template <class T>
  static std::optional<T> default_for(const Principal& principal) {
    return T{principal.customer.value_or(default_customer)};
  }
};

}  // namespace comptroller
