// The SQL of the store as PostgreSQL reads it: parameters are numbered, and the names of indexes
// that a statement must use on SQLite are left out.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace comptroller::db::postgresql {

struct Translation {
  std::string sql;
  std::vector<std::string> names;  // of the parameters, as written; empty for one without a name

  // Returns the number of a parameter from 1; 0 if there is none.
  int number_of(std::string_view name) const;
};

// Parameters are ?, ?1 or $name, with SQLite's rules for their numbers.
Translation translate(std::string_view sql);

}  // namespace comptroller::db::postgresql
