// Finds, inserts and updates records of any kind.
#pragma once

#include <optional>
#include <span>

#include "model/error.hpp"
#include "store/columns.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// A record and its key. Keys ascend in order of insertion.
template <Record R>
struct Stored {
  std::int64_t key = 0;
  R record;
};

// A column of a record's table that is not a field of the record.
struct MoreColumn {
  std::string_view name;
  Value value;
};

// Returns the only record that satisfies a condition, if it exists.
template <Record R>
std::optional<Stored<R>> find_where(db::Connection& connection, const Sql& condition) {
  static const std::string select =
      "SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) + " WHERE ";
  db::Query query = Sql{select, {}}.add(condition).query(connection);
  if (!query.step()) return std::nullopt;
  return Stored<R>{query.number(static_cast<int>(field_count<R>)),
                   read_row<R>(query, connection.symbols())};
}

// Returns the record with this id, if it exists.
template <Record R>
std::optional<Stored<R>> find(db::Connection& connection, std::string_view id) {
  BoundValues parameters(connection.symbols());
  Value value;
  if constexpr (storage_class<decltype(R::id)>() == StorageClass::symbol) {
    value = Value::of(connection.symbols().find(id).value_or(0));
  } else {
    value = parameters.identifier(id);
  }
  return find_where<R>(connection, {"id = ?", {value}});
}

// Returns the names of the columns of R, then of `more`.
template <Record R>
std::vector<std::string_view> column_names(std::initializer_list<MoreColumn> more) {
  std::vector<std::string_view> names = stored_names<R>();
  for (const MoreColumn& column : more) names.push_back(column.name);
  return names;
}

// Binds the columns of a record, then `more`, to parameters 1, 2, ...; returns the last.
template <Record R>
int bind_columns(db::Query& query, const R& record, BoundValues& parameters,
                 std::initializer_list<MoreColumn> more) {
  int index = bind_record(query, record, parameters);
  for (const MoreColumn& column : more) query.bind(++index, column.value);
  return index;
}

// Inserts a record unless one of its unique values is taken; returns its key if it was inserted.
// The names in `more` must be the same in every call for R.
template <Record R>
std::optional<std::int64_t> insert_new(db::Connection& connection, const R& record,
                                       std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = insert_sql(R::table, column_names<R>(more));
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  bind_columns(query, record, parameters, more);
  return query.insert();
}

// Does the same for records in order, which a driver may insert together. They have one further
// column; `value_of(position, parameters)` returns its value.
template <Record R, class RecordOf, class ValueOf>
std::vector<db::Insertion> insert_new_many(db::Connection& connection, std::size_t count,
                                           const RecordOf& record_of, std::string_view column,
                                           const ValueOf& value_of) {
  static const db::InsertStatement statement{R::table, column_names<R>({{column, {}}}),
                                             insert_sql(R::table, column_names<R>({{column, {}}}))};
  BoundValues parameters(connection.symbols());  // of one row
  return connection.insert_new(statement, count, [&](db::Query& query, std::size_t row) {
    parameters.clear();
    bind_columns(query, record_of(row), parameters, {{column, value_of(row, parameters)}});
  });
}

// Inserts a record; its unique values must be free. Returns its key.
template <Record R>
std::int64_t insert(db::Connection& connection, const R& record,
                    std::initializer_list<MoreColumn> more = {}) {
  if (const auto key = insert_new(connection, record, more)) return *key;
  throw Error(Code::internal, "a unique value is taken");
}

// Replaces the record with this key. Columns that are not fields keep their values, except `more`,
// whose names must be the same in every call for R.
template <Record R>
void update(db::Connection& connection, std::int64_t key, const R& record,
            std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = update_sql(R::table, column_names<R>(more));
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  const int last = bind_columns(query, record, parameters, more);
  query.bind(last + 1, key).run();
}

}  // namespace comptroller::store
