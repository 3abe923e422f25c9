// Who asks: a client of one customer, or the operator of the service, who has no customer and sees
// all.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace comptroller {

// What created_by and deleted_by say of the operator; no client may be called so.
inline constexpr const char* operator_name = "operator";

struct Principal {
  std::optional<std::string> customer;  // none: the operator
  std::string client_id;                // what created_by and deleted_by say of a client
  std::vector<std::string> scopes;

  bool is_operator() const { return !customer.has_value(); }
  // The name that records of what was done carry.
  std::string actor() const { return is_operator() ? operator_name : client_id; }
};

// The customer of what the operator writes without naming one.
inline constexpr const char* default_customer = "default";

}  // namespace comptroller
