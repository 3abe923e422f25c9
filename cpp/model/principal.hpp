// The caller: a client of one customer, or the operator of the service, who belongs to no customer
// and sees all records.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace comptroller {

struct Principal {
  std::optional<std::string> customer;  // nullopt: the operator
  std::string actor;                    // the value of created_by and deleted_by
  std::vector<std::string> scopes;

  bool is_operator() const { return !customer.has_value(); }
};

// The customer of records that the operator writes without a customer_id.
inline constexpr const char* default_customer = "default";

}  // namespace comptroller
