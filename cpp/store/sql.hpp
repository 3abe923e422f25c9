// SQL text and the values of its ? parameters, in the order of the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"

namespace comptroller::store {

using db::Value;

// A statement with values bound to its ? in order. Their bytes must live until it is reset.
db::Query bound_query(db::Connection& connection, const std::string& text,
                      const std::vector<Value>& values);

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
    return bound_query(connection, text, values);
  }
};

// INSERT of a row of these columns unless a unique value of it is taken.
std::string insert_sql(std::string_view table, const std::vector<std::string_view>& columns);

// UPDATE of these columns by key, which is the last parameter.
std::string update_sql(std::string_view table, const std::vector<std::string_view>& columns);

// An expression equal to the column that no index serves. Filters are written with it, so that the
// rows come from the index, or the range of keys, that gives them in order.
std::string unindexed(std::string_view column);

// `expression = ?` or `expression IN (?, ...)`. The text depends on the number of values up to the
// next power of two alone, so that few statements serve all numbers; no value selects nothing.
Sql any_of(std::string_view expression, const std::vector<Value>& values);

// Keys as a JSON array: the parameter of `(SELECT value AS place FROM json_each(?)) AS page`.
std::string json_array(const std::vector<std::int64_t>& keys);

// The end of the range of texts of at most `longest` characters that begin with `prefix`: begins
// with it as well, follows all of them, and is valid UTF-8.
std::string last_with_prefix(std::string_view prefix, std::size_t longest);

}  // namespace comptroller::store
