// The customers of a store. They come into being when they are first named by the operator.
#pragma once

#include "store/listing.hpp"

namespace comptroller::store {

// The customer's key; makes the customer if need be.
std::int64_t ensure_customer(db::Connection& connection, std::string_view customer);

// All rows of one customer, or, without one, of all customers.
Ownership ownership(db::Connection& connection, const std::optional<std::string>& customer);

}  // namespace comptroller::store
