// The caller: a client of one customer, or the operator of the service, who has no customer and
// sees all records.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace comptroller {

// The operator in created_by and deleted_by; no client may have this id.
inline constexpr const char* operator_name = "operator";

struct Principal {
  std::optional<std::string> customer;  // none: the operator
  std::string client_id;                // what created_by and deleted_by say of a client
  std::vector<std::string> scopes;

  bool is_operator() const { return !customer.has_value(); }
  // The value of created_by and deleted_by.
  std::string actor() const { return is_operator() ? operator_name : client_id; }
};

// The customer of records that the operator writes without naming one.
inline constexpr const char* default_customer = "default";

}  // namespace comptroller
