// What all kinds of records have in common in the store: found by id, added, replaced.
#pragma once

#include <optional>

#include "model/error.hpp"
#include "store/columns.hpp"

namespace comptroller::store {

// A record and its key, which is also its place in the order of arrival.
template <Record R>
struct Stored {
  std::int64_t key = 0;
  R record;
};

// A column that is kept beside a record's own.
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

// INSERT INTO the table of R: its columns and then `more`, each from a numbered parameter; nothing
// where a unique value is taken.
template <Record R>
std::string insert_sql(std::initializer_list<MoreColumn> more) {
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
  return "INSERT INTO " + std::string(R::table) + " (" + columns + ") VALUES (" + values +
         ") ON CONFLICT DO NOTHING";
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

// Adds a record, unless its id is taken; gives its key if it was added. The names of `more` must be
// the same at every call for R.
template <Record R>
std::optional<std::int64_t> insert_new(db::Connection& connection, const R& record,
                                       std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = insert_sql<R>(more);
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  int index = bind_record(query, record, parameters);
  for (const MoreColumn& column : more) query.bind(++index, column.value);
  query.run();
  if (connection.changed_rows() == 0) return std::nullopt;
  return connection.last_inserted_key();
}

// Adds a record whose id, and all else that is unique, is known to be free; gives its key.
template <Record R>
std::int64_t insert(db::Connection& connection, const R& record,
                    std::initializer_list<MoreColumn> more = {}) {
  if (const auto key = insert_new(connection, record, more)) return *key;
  throw Error(Code::internal, "a unique value was taken");
}

// Replaces the record of a key; columns that are kept beside it stay, but for `more`, whose names
// must be the same at every call for R.
template <Record R>
void update(db::Connection& connection, std::int64_t key, const R& record,
            std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = update_sql<R>(more);
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(sql);
  int index = bind_record(query, record, parameters);
  for (const MoreColumn& column : more) query.bind(++index, column.value);
  query.bind(++index, Value::of(key)).run();
}

}  // namespace comptroller::store
