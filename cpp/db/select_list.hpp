// The columns of a SELECT as text.
#pragma once

#include <algorithm>
#include <string_view>
#include <vector>

namespace comptroller::db {

// What precedes the name of a column that is NULL in each row.
inline constexpr std::string_view null_column = "NULL AS ";

// Returns the columns of a list such as "id, amount, created_at".
inline std::vector<std::string_view> split_select_list(std::string_view list) {
  constexpr std::string_view separator = ", ";
  std::vector<std::string_view> columns;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(separator), list.size());
    columns.push_back(list.substr(0, end));
    list.remove_prefix(std::min(end + separator.size(), list.size()));
  }
  return columns;
}

}  // namespace comptroller::db
