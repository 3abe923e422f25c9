#include "db/query.hpp"

#include <array>

namespace comptroller::db {

namespace {

// In the order of Value::Kind.
constexpr std::array<std::string_view, 5> kinds{"NULL", "an integer", "text", "a blob",
                                                "a real number"};

}  // namespace

Error wrong_type(const Value& value, std::string_view wanted) {
  return Error::damaged("it is " + std::string(kinds.at(static_cast<std::size_t>(value.kind))) +
                        " instead of " + std::string(wanted));
}

bool is_of_damage(const Error& error) {
  return error.detail().starts_with(Error::damaged("").detail());
}

Error located(const Error& error, const std::string& place) {
  const std::string prefix = Error::damaged("").detail();
  return Error::damaged(place + ": " + error.detail().substr(prefix.size()) +
                        "; restore a backup, or correct the value");
}

std::string place_of(std::string_view table, std::string_view column, std::int64_t key) {
  std::string place(table);
  return place.append(".").append(column).append(" of key ").append(std::to_string(key));
}

std::string_view table_of(std::string_view sql) {
  constexpr std::string_view from = " FROM ";
  int depth = 0;
  for (std::size_t at = 0; at < sql.size(); ++at) {
    if (sql[at] == '(') ++depth;
    if (sql[at] == ')') --depth;
    if (depth > 0 || !sql.substr(at).starts_with(from)) continue;
    sql.remove_prefix(at + from.size());
    return sql.substr(0, sql.find(' '));
  }
  return {};
}

}  // namespace comptroller::db
