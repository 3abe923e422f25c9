// Finds, inserts, updates and deletes records of any kind.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/error.hpp"
#include "store/changes.hpp"
#include "store/columns.hpp"
#include "store/row_locks.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// A column of a record's table that is not a field of the record.
struct MoreColumn {
  std::string_view name;
  Value value;
};

// Returns the only record that satisfies a condition, if it exists.
template <Record R, LockFor use = LockFor::change>
std::optional<Stored<R>> find_where(db::Connection& connection, const Sql& condition) {
  static const std::string select =
      "SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) + " WHERE ";
  Sql sql = Sql{select, {}}.add(condition);
  if constexpr (use == LockFor::change) sql.add(for_update(connection));
  db::Query query = sql.query(connection);
  if (!query.step()) return std::nullopt;
  return Stored<R>{query.number(static_cast<int>(field_count<R>)),
                   read_row<R>(query, connection.symbols())};
}

// Returns the record with this id, if it exists.
template <Record R, LockFor use = LockFor::change>
std::optional<Stored<R>> find(db::Connection& connection, std::string_view id) {
  BoundValues parameters(connection.symbols());
  Value value;
  if constexpr (storage_class<decltype(R::id)>() == StorageClass::symbol) {
    value = Value::of(connection.symbols().find(id).value_or(0));
  } else {
    value = parameters.identifier(id);
  }
  lock_before_read<R, use>(connection, value);
  return find_where<R, use>(connection, {"id = ?", {value}});
}

// Returns the records with these ids together, by their ids. Only if the dialect is_remote.
template <Record R>
std::unordered_map<std::string, Stored<R>> find_many(db::Connection& connection,
                                                     const std::vector<std::string_view>& ids) {
  std::unordered_map<std::string, Stored<R>> found;
  if (ids.empty()) return found;
  BoundValues parameters(connection.symbols());
  std::vector<Value> values;
  values.reserve(ids.size());
  for (const std::string_view id : ids) values.push_back(parameters.identifier(id));
  lock_before_read<R>(connection, values);
  const std::string sql = "SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) +
                          " WHERE id = ANY(?) ORDER BY key" + std::string(for_update(connection));
  db::Query rows = connection.query_list(sql, values);
  while (rows.step()) {
    Stored<R> stored{rows.number(static_cast<int>(field_count<R>)),
                     read_row<R>(rows, connection.symbols())};
    std::string id = stored.record.id.value;
    found.emplace(std::move(id), std::move(stored));
  }
  return found;
}

// Stores the texts of records that are symbols together, if the driver can do so faster.
template <Record R>
void intern_symbols(db::Connection& connection, std::span<const R* const> records) {
  db::Symbols& symbols = connection.symbols();
  std::vector<std::string_view> texts;
  for (const R* record : records) {
    const RecordFields<R> fields{*record};
    for_each_indexed_field<R>([&]<class F, std::size_t I>() {
      using T = bare<typename F::Type>;
      if constexpr (!is_derived<T>) {
        if constexpr (storage_class<T>() == StorageClass::symbol) {
          const auto field = fields.template field<F, I>();
          if (field.is_unset()) return;
          const std::string_view text = view_of(*field.value);
          if (!symbols.is_cached(text)) texts.push_back(text);
        }
      }
    });
  }
  symbols.intern_many(texts);
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
std::optional<std::int64_t> insert_new(Changes& changes, const R& record,
                                       std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = insert_sql(R::table, column_names<R>(more));
  changes.before_insert<R>();
  std::optional<std::int64_t> key;
  {
    BoundValues parameters(changes.connection().symbols());
    db::Query query = changes.connection().query(sql);
    bind_columns(query, record, parameters, more);
    key = query.insert();
  }
  if (key) changes.inserted(*key, record);
  return key;
}

// Does the same for records in order, which a driver may insert together. `content_of(position)` is
// the content_hash of a record, or null. They have one further column; `value_of(position,
// parameters)` returns its value.
template <Record R, class RecordOf, class ContentOf, class ValueOf>
std::vector<db::Insertion> insert_new_many(Changes& changes, std::size_t count,
                                           const RecordOf& record_of, const ContentOf& content_of,
                                           std::string_view column, const ValueOf& value_of) {
  static const db::InsertStatement statement{R::table, column_names<R>({{column, {}}}),
                                             insert_sql(R::table, column_names<R>({{column, {}}}))};
  BoundValues parameters(changes.connection().symbols());  // of one row
  if (!changes.is_batch()) {
    std::vector<db::Insertion> results(count, db::Insertion::taken);
    for (std::size_t row = 0; row < count; ++row) {
      parameters.clear();
      const Value value = value_of(row, parameters);
      if (insert_new(changes, record_of(row), {{column, value}})) {
        results[row] = db::Insertion::inserted;
      }
    }
    return results;
  }
  changes.before_insert<R>();
  std::vector<std::int64_t> keys;
  std::vector<db::Insertion> insertions = changes.connection().insert_new(
      statement, count,
      [&](db::Query& query, std::size_t row) {
        parameters.clear();
        bind_columns(query, record_of(row), parameters, {{column, value_of(row, parameters)}});
      },
      keys);
  auto key = keys.begin();
  for (std::size_t row = 0; row < count; ++row) {
    if (insertions[row] != db::Insertion::inserted) continue;
    const bool has_key = key != keys.end();
    changes.inserted_in_batch(record_of(row), content_of(row),
                              has_key ? std::optional(*key++) : std::nullopt);
  }
  return insertions;
}

// Inserts a record; its unique values must be free. Returns its key.
template <Record R>
std::int64_t insert(Changes& changes, const R& record,
                    std::initializer_list<MoreColumn> more = {}) {
  if (const auto key = insert_new(changes, record, more)) return *key;
  throw db::Conflict(Code::internal, "a unique value is taken");
}

// Replaces a record. Columns that are not fields keep their values, except `more`, whose names must
// be the same in every call for R.
template <Record R>
void update(Changes& changes, const Stored<R>& before, const R& after,
            std::initializer_list<MoreColumn> more = {}) {
  static const std::string sql = update_sql(R::table, column_names<R>(more));
  {
    BoundValues parameters(changes.connection().symbols());
    db::Query query = changes.connection().query(sql);
    const int last = bind_columns(query, after, parameters, more);
    query.bind(last + 1, before.key).run_later();
  }
  changes.changed(before.key, before.record, after);
}

}  // namespace comptroller::store
