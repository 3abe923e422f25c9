#include "store/customers.hpp"

namespace comptroller::store {

std::int64_t ensure_customer(db::Connection& connection, std::string_view customer) {
  const std::int64_t key = connection.symbols().intern(customer);
  connection.query("INSERT INTO customers (key) VALUES ($key) ON CONFLICT DO NOTHING")
      .bind("$key", Value::of(key))
      .run();
  return key;
}

Ownership ownership(db::Connection& connection, const std::optional<std::string>& customer) {
  Ownership ownership;
  if (customer) {
    ownership.is_restricted = true;
    if (const auto key = connection.symbols().find(*customer)) ownership.customers.push_back(*key);
    return ownership;
  }
  db::Query query = connection.query("SELECT key FROM customers");
  while (query.step()) ownership.customers.push_back(query.column(0).integer);
  return ownership;
}

}  // namespace comptroller::store
