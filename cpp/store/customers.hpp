// The customers of a store. A customer is created when the operator first names it.
#pragma once

#include "store/listing.hpp"

namespace comptroller::store {

// Creates the customer if it does not exist.
void ensure_customer(db::Connection& connection, std::string_view customer);

// Creates the customers of a private copy of the database.
void add_customers_of(db::Connection& connection, db::Connection& copy);

// Returns the ownership of one customer's rows; without a customer, of all rows.
Ownership ownership(db::Connection& connection, const std::optional<std::string>& customer);

}  // namespace comptroller::store
