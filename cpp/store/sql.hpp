// SQL text and the values of its ? parameters, in the order of the text.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"

namespace comptroller::store {

using db::Value;

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
  // The statement with its values bound. Their bytes must live until it is reset.
  db::Query query(db::Connection& connection) const {
    db::Query query = connection.query(text);
    int index = 0;
    for (const Value& value : values) query.bind(++index, value);
    return query;
  }
};

// An expression of the column's value that no index is searched by: a filter of the rows that
// another index, or a range of keys, finds in order.
std::string unindexed(std::string_view column);

// `expression = ?` or `expression IN (?, ...)`. The text depends on the number of values up to the
// next power of two alone, so that few statements serve all numbers; no value selects nothing.
Sql any_of(std::string_view expression, const std::vector<Value>& values);

// Keys as a JSON array: what `(SELECT value AS place FROM json_each(?)) AS page` gives as rows.
std::string json_array(const std::vector<std::int64_t>& keys);

// The least text that is greater than all texts that begin with `prefix`, valid UTF-8 itself; none
// if there is none.
std::optional<std::string> end_of_prefix(std::string_view prefix);

}  // namespace comptroller::store
