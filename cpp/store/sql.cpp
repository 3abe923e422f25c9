#include "store/sql.hpp"

#include <array>
#include <bit>

namespace comptroller::store {

db::Query bound(db::Query query, const std::vector<Value>& values) {
  int index = 0;
  for (const Value& value : values) query.bind(++index, value);
  return query;
}

std::string insert_sql(std::string_view table, const std::vector<std::string_view>& columns) {
  std::string names;
  std::string values;
  for (const std::string_view column : columns) {
    names.append(names.empty() ? "" : ", ").append(column);
    values.append(values.empty() ? "?" : ", ?");
  }
  return "INSERT INTO " + std::string(table) + " (" + names + ") VALUES (" + values +
         ") ON CONFLICT DO NOTHING";
}

std::string update_sql(std::string_view table, const std::vector<std::string_view>& columns) {
  std::string sets;
  for (const std::string_view column : columns) {
    sets.append(sets.empty() ? "" : ", ").append(column).append(" = ?");
  }
  return "UPDATE " + std::string(table) + " SET " + sets + " WHERE key = ?";
}

std::string unindexed(std::string_view column) {
  return "COALESCE(" + std::string(column) + ", NULL)";
}

Sql compares(std::string_view column, Bound bound, const Value& value) {
  // In the order of Bound.
  constexpr std::array<std::string_view, 5> signs{" < ?", " <= ?", " = ?", " >= ?", " > ?"};
  return Sql{unindexed(column), {}}.add(signs.at(static_cast<std::size_t>(bound)), value);
}

Sql any_of(std::string_view expression, const std::vector<Value>& values) {
  if (values.empty()) return {"false", {}};
  Sql sql{std::string(expression), values};
  if (values.size() == 1) return sql.add(" = ?");
  sql.add(" IN (?");
  for (std::size_t count = std::bit_ceil(values.size()); count > 1; --count) sql.add(", ?");
  sql.values.resize(std::bit_ceil(values.size()), values.back());
  return sql.add(")");
}

std::string last_with_prefix(std::string_view prefix, std::size_t longest) {
  constexpr std::string_view last_character = "\xF4\x8F\xBF\xBF";  // U+10FFFF
  std::string last(prefix);
  for (; longest > 0; --longest) last += last_character;
  return last;
}

}  // namespace comptroller::store
