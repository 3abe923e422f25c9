// SQL text, and the values of its ? parameters in the order of the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "db/database.hpp"
#include "model/filters.hpp"

namespace comptroller::store {

using db::Value;

// Binds values to the ? parameters of a statement in order. Their bytes must live until the
// statement is reset.
db::Query bound(db::Query query, const std::vector<Value>& values);

// The stored value of an enumerator.
template <class E>
  requires std::is_enum_v<E>
Value code_of(E value) {
  return Value::of(static_cast<std::int64_t>(value));
}

inline Value nullable(std::optional<std::int64_t> number) {
  return number ? Value::of(*number) : Value::null();
}

struct Sql {
  std::string text;
  std::vector<Value> values;

  Sql& add(std::string_view more) {
    text += more;
    return *this;
  }
  Sql& add(std::string_view more, const Value& value) {
    text += more;
    values.push_back(value);
    return *this;
  }
  Sql& add(const Sql& more) {
    text += more.text;
    values.insert(values.end(), more.values.begin(), more.values.end());
    return *this;
  }
  db::Query query(db::Connection& connection) const {
    return bound(connection.query(text), values);
  }
  // For a SELECT that may return many rows.
  db::Query query_many(db::Connection& connection) const {
    return bound(connection.query_many(text), values);
  }
};

// Returns an INSERT of a row with these columns that does nothing if a unique value is taken.
std::string insert_sql(std::string_view table, const std::vector<std::string_view>& columns);

// Returns an UPDATE of these columns by key; the key is the last parameter.
std::string update_sql(std::string_view table, const std::vector<std::string_view>& columns);

// Returns an expression equal to the column that no index serves. Filters use it, so that SQLite
// reads the rows in order from the intended index or range of keys.
std::string unindexed(std::string_view column);

// Returns a condition on a column that no index serves: before, at or after the value.
Sql compares(std::string_view column, Bound bound, const Value& value);

// Returns `expression = ?` or `expression IN (?, ...)`. The number of parameters is rounded up to a
// power of two, so that few different statements are prepared. Without values no row matches.
Sql any_of(std::string_view expression, const std::vector<Value>& values);

// Returns the end of the range of texts of at most `longest` characters that begin with `prefix`: a
// valid UTF-8 text with this prefix that follows all of them.
std::string last_with_prefix(std::string_view prefix, std::size_t longest);

}  // namespace comptroller::store
