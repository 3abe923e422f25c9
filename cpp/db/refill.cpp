#include "db/refill.hpp"

namespace comptroller::db {

std::string quoted(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) {
    list.append(list.empty() ? "\"" : ", \"").append(name).append("\"");
  }
  return list;
}

std::vector<std::string> texts(Query rows) {
  std::vector<std::string> all;
  while (rows.step()) all.emplace_back(rows.column(0).bytes);
  return all;
}

std::string StoredTable::select() const {
  return "SELECT " + quoted(columns) + " FROM " + name + " ORDER BY " + quoted(primary_key);
}

std::string StoredTable::insert() const {
  std::string values = "?";
  for (std::size_t column = 1; column < columns.size(); ++column) values += ", ?";
  return "INSERT INTO " + name + " (" + quoted(columns) + ") VALUES (" + values + ")";
}

}  // namespace comptroller::db
