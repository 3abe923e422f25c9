// Finding, inserting and updating a record of any kind.
#pragma once

#include <optional>
#include <span>

#include "model/error.hpp"
#include "store/columns.hpp"

namespace comptroller::store {

// A record and its key. Keys ascend in the order of arrival.
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

// The record with this id, if there is one.
template <Record R>
std::optional<Stored<R>> find(db::Connection& connection, std::string_view id) {
  static const std::string sql =
      "SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) + " WHERE id = ?1";
  BoundValues parameters(connection.symbols());
  Value value;
  if constexpr (storage_class<decltype(R::id)>() == StorageClass::symbol) {
    value = Value::of(connection.symbols().find(id).value_or(0));
  } else {
    value = parameters.identifier(id);
  }
  db::Query query = connection.query(sql);
  if (!query.bind(1, value).step()) return std::nullopt;
  return Stored<R>{query.column(static_cast<int>(R::fields::count)).integer,
                   read_row<R>(query, connection.symbols())};
}

// INSERT INTO the table of R of its columns and then `more`, each from a numbered parameter.
template <Record R>
std::string insert_sql(std::initializer_list<MoreColumn> more, std::string_view ending) {
  std::vector<std::string_view> names = stored_names<R>();
  for (const MoreColumn& column : more) names.push_back(column.name);
  std::string columns;
  std::string values;
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (index > 0) columns += ", ";
    if (index > 0) values += ", ";
    columns += names[index];
    values += '?' + std::to_string(index + 1);
  }
  return "INSERT INTO " + std::string(R::table) + " (" + columns + ") VALUES (" + values + ") " +
         std::string(ending);
}

// UPDATE of all columns of R and then `more` by key, which is the last parameter.
template <Record R>
std::string update_sql(std::initializer_list<MoreColumn> more) {
  std::vector<std::string_view> names = stored_names<R>();
  for (const MoreColumn& column : more) names.push_back(column.name);
  std::string sets;
  for (std::size_t index = 0; index < names.size(); ++index) {
    if (index > 0) sets += ", ";
    sets.append(names[index]).append(" = ?").append(std::to_string(index + 1));
  }
  return "UPDATE " + std::string(R::table) + " SET " + sets + " WHERE key = ?" +
         std::to_string(names.size() + 1);
}

// Binds the columns of a record and then `more` to parameters 1, 2, ...; gives the last.
template <Record R>
int bind_columns(db::Query& query, const R& record, BoundValues& parameters,
                 std::initializer_list<MoreColumn> more) {
  int index = bind_record(query, record, parameters);
  for (const MoreColumn& column : more) query.bind(++index, column.value);
  return index;
}

// Inserts a record unless a unique value of it is taken; gives whether it was inserted. The names
// of `more` must be the same at every call for R.
template <Record R>
bool insert_new(db::Connection& connection, const R& record,
                std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = insert_sql<R>(more, "ON CONFLICT DO NOTHING");
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  bind_columns(query, record, parameters, more);
  return query.run() > 0;
}

// The same for records in order, which a driver may send together; gives of each whether it was
// inserted. They have one further column, whose value `value_of(position, parameters)` gives.
template <Record R, class RecordOf, class ValueOf>
std::vector<bool> insert_new_many(db::Connection& connection, std::size_t count,
                                  const RecordOf& record_of, std::string_view column,
                                  const ValueOf& value_of) {
  static const std::string sql = insert_sql<R>({{column, {}}}, "ON CONFLICT DO NOTHING");
  BoundValues parameters(connection.symbols());  // of one row
  return connection.run_for_each(sql, count, [&](db::Query& query, std::size_t row) {
    parameters.clear();
    bind_columns(query, record_of(row), parameters, {{column, value_of(row, parameters)}});
  });
}

// Inserts a record whose unique values are known to be free.
template <Record R>
void insert(db::Connection& connection, const R& record,
            std::initializer_list<MoreColumn> more = {}) {
  if (insert_new(connection, record, more)) return;
  throw Error(Code::internal, "a unique value was taken");
}

// The same; gives the key of the new record.
template <Record R>
std::int64_t insert_for_key(db::Connection& connection, const R& record,
                            std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = insert_sql<R>(more, "");
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  bind_columns(query, record, parameters, more);
  return query.insert();
}

// Replaces the record with this key. Columns that are no fields keep their values, except `more`,
// whose names must be the same at every call for R.
template <Record R>
void update(db::Connection& connection, std::int64_t key, const R& record,
            std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = update_sql<R>(more);
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  const int last = bind_columns(query, record, parameters, more);
  query.bind(last + 1, Value::of(key)).run();
}

}  // namespace comptroller::store
