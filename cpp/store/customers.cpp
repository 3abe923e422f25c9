#include "store/customers.hpp"

#include "store/client_lookups.hpp"
#include "store/operator_indexes.hpp"

namespace comptroller::store {

namespace {

// The maximum number of rows that a write indexes before it answers.
constexpr std::int64_t max_rows_to_index = 10'000;

bool add(db::Connection& connection, std::int64_t key) {
  return connection.run("INSERT INTO customers (key) VALUES (?) ON CONFLICT DO NOTHING", key) > 0;
}

}  // namespace

void ensure_customer(db::Connection& connection, std::string_view customer) {
  const std::int64_t key = connection.symbols().intern(customer);
  // Beside other writes, an index would wait for the end of each, and let no other one begin.
  if (add(connection, key) && !connection.locks_rows()) {
    make_operator_indexes(connection, max_rows_to_index);
  }
}

void add_customers_of(db::Connection& connection, db::Connection& copy) {
  db::Query keys = copy.query("SELECT key FROM customers");
  while (keys.step()) add(connection, keys.number(0));
}

Ownership ownership(db::Connection& connection, const std::optional<std::string>& customer) {
  if (customer) return {{key_of_customer(connection, *customer)}, true};
  Ownership ownership;
  // 0 if the indexes exist, otherwise the customers.
  static const std::string sql = std::string("SELECT key FROM customers WHERE NOT ") +
                                 has_operator_indexes + " UNION ALL SELECT 0 WHERE " +
                                 has_operator_indexes;
  for (const std::int64_t key : connection.numbers(sql)) {
    if (key == 0) {
      ownership.has_indexes_of_all = true;
    } else {
      ownership.customers.push_back(Value::of(key));
    }
  }
  return ownership;
}

}  // namespace comptroller::store
