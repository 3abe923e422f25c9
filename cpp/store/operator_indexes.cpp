#include "store/operator_indexes.hpp"

#include <set>
#include <string>

#include "model/lists.hpp"

namespace comptroller::store {

namespace {

constexpr std::string_view customer_prefix = "customer_id, ";

// The states in operator_indexes: the indexes exist, or a load makes them at its end.
constexpr std::int64_t made = 1;
constexpr std::int64_t deferred = 2;

std::int64_t read_number(db::Connection& connection, std::string_view sql) {
  db::Query query = connection.query(sql);
  return query.step() ? query.column(0).integer : 0;
}

std::int64_t state_of(db::Connection& connection) {
  return read_number(connection, "SELECT max(state) FROM operator_indexes");
}

void set_state(db::Connection& connection, std::int64_t state) {
  connection.run("INSERT INTO operator_indexes (state) VALUES (?) ON CONFLICT DO NOTHING", state);
}

// Calls `visit` with the table and the index for every index of a list that begins with the
// customer.
template <class Visit>
void for_each_customer_index(Visit visit) {
  for_each_list([&]<class R, class Request>() {
    for_each_index<Request>([&](const Index& index) {
      if (!index.columns.starts_with(customer_prefix)) return;
      visit(index.table.empty() ? R::table : index.table, index);
    });
  });
}

}  // namespace

bool lacks_operator_indexes(db::Connection& connection) {
  const std::string sql = "SELECT count(*) FROM (SELECT key FROM customers LIMIT " +
                          std::to_string(max_merged_customers + 1) + ") AS first";
  return state_of(connection) == 0 && read_number(connection, sql) > max_merged_customers;
}

void make_operator_indexes(db::Connection& connection, std::int64_t max_rows) {
  if (!lacks_operator_indexes(connection)) return;
  std::set<std::string_view> tables;
  for_each_customer_index([&](std::string_view table, const Index&) { tables.insert(table); });
  for (const std::string_view table : tables) {
    if (read_number(connection, "SELECT max(key) FROM " + std::string(table)) > max_rows) return;
  }
  int number = 0;
  for_each_customer_index([&](std::string_view table, const Index& index) {
    std::string sql = "CREATE INDEX list_" + std::to_string(++number) + "_of_all ON ";
    sql.append(table).append(" (").append(index.columns.substr(customer_prefix.size()));
    sql.append(connection.dialect().end_of_index).append(")");
    if (!index.where.empty()) sql.append(" WHERE ").append(index.where);
    connection.execute(sql);
  });
  set_state(connection, made);
}

void defer_operator_indexes(db::Connection& connection) {
  set_state(connection, deferred);
}

void resume_operator_indexes(db::Connection& connection) {
  connection.run("DELETE FROM operator_indexes WHERE state = ?", deferred);
}

}  // namespace comptroller::store
