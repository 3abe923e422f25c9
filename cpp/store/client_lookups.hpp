// Lookups of what a client names. They execute the same statements, at the same cost, whether the
// name is another customer's or nobody's, so that a client cannot measure what others have.
#pragma once

#include <limits>

#include "store/records.hpp"

namespace comptroller::store {

// Returns the key of a symbol; nullopt if it is not stored. expect_symbols
// announces lookups of several.
std::optional<std::int64_t> find_symbol_evenly(db::Connection& connection, std::string_view text);
void expect_symbols(db::Connection& connection, std::span<const std::string_view> texts);

// Returns the key of the row with this id if it is the customer's. A symbol that is not stored is
// `no_symbol`.
inline constexpr std::int64_t no_symbol = std::numeric_limits<std::int64_t>::max();
std::optional<std::int64_t> find_own_key(db::Connection& connection, std::string_view table,
                                         const Value& id, const Value& customer);
// The query of find_own_key; its parameter is the id.
std::string select_own_key(db::Connection& connection, std::string_view table);

// Returns the symbol of a customer, or a key that no row has.
inline Value key_of_customer(db::Connection& connection, std::string_view customer) {
  return Value::of(connection.symbols().find(customer).value_or(0));
}

// A selection of the last row with an id up to ?, and whether a row that ends with the columns id
// and customer_id, from `first`, is the customer's record with this id.
std::string select_last_up_to_id(db::Connection& connection, std::string_view columns,
                                 std::string_view table);
inline bool is_own(db::Query& row, int first, const Value& id, const Value& customer) {
  return row.column(first) == id && row.column(first + 1) == customer;
}

// The condition for the customer's row with this id; pass unused_id if none was found. A write that
// runs beside others locks this row only, so that a client does not wait for other customers.
inline Sql own_row(const Value& id, const Value& customer) {
  return {"id = ? AND customer_id = ?", {id, customer}};
}

// Returns the record with this id if it is the customer's.
template <Record R, LockFor use = LockFor::change>
std::optional<Stored<R>> find_own(db::Connection& connection, std::string_view id,
                                  std::string_view customer) {
  static const std::string columns = select_list<R>() + ", key, id, customer_id";
  constexpr int key_column = static_cast<int>(field_count<R>);
  BoundValues parameters(connection.symbols());
  Value value;
  Value unused = unused_id();
  if constexpr (storage_class<decltype(R::id)>() == StorageClass::symbol) {
    value = Value::of(find_symbol_evenly(connection, id).value_or(no_symbol));
    unused = Value::of(no_symbol);
  } else {
    value = parameters.identifier(id);
  }
  const Value owner = key_of_customer(connection, customer);
  db::Query row = connection.query(select_last_up_to_id(connection, columns, R::table));
  const bool is_found = row.bind(1, value).step() && is_own(row, key_column + 1, value, owner);
  if (connection.locks_rows()) {
    if (!is_found) value = unused;
    lock_before_read<R, use>(connection, value);
    return find_where<R, use>(connection, own_row(value, owner));
  }
  if (!is_found) return std::nullopt;
  return Stored<R>{row.number(key_column), read_row<R>(row, connection.symbols())};
}

}  // namespace comptroller::store
