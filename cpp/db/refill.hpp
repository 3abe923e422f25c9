// Fills an empty store with the rows of another one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "db/query.hpp"

namespace comptroller::db {

// A table of the store as the schema of the database has it.
struct StoredTable {
  std::string name;
  std::vector<std::string> columns;      // in order of name
  std::vector<std::string> primary_key;  // its columns

  friend bool operator==(const StoredTable&, const StoredTable&) = default;

  // Returns a SELECT of all rows in order of the primary key, or an INSERT of a row.
  std::string select() const;
  std::string insert() const;
};

// The names in double quotes, separated by commas.
std::string quoted(const std::vector<std::string>& names);

// Returns the first column of all rows, which is of texts.
std::vector<std::string> texts(Query rows);

// Part of one bulk write. While it lives, the store lacks what keeps its tables consistent and
// fast, such as indexes. For one thread.
class Refill {
 public:
  virtual ~Refill() = default;

  // Adds rows to a table. `bind_next` binds the columns of the next row, in order, and returns
  // false after the last one.
  using BindNext = std::function<bool(Query& row)>;
  virtual void add(const StoredTable& table, const BindNext& bind_next) = 0;

  // Completes the tables. Their next keys follow these.
  virtual void finish(const std::map<std::string, std::int64_t>& last_keys) = 0;
};

}  // namespace comptroller::db
