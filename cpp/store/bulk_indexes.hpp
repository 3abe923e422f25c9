// The indexes of an empty table wait until it is filled: building them at the end is faster than
// keeping them up row by row.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"

namespace comptroller::store {

class BulkIndexes {
 public:
  // Drops the indexes of the table if it is empty and filling it does not look anything up in them.
  // Inside the transaction that fills it.
  BulkIndexes(db::Connection& connection, std::string_view table);
  // Makes them again, and those of an operator's lists if they are due; before the transaction
  // commits.
  void rebuild();

 private:
  db::Connection& connection_;
  std::vector<std::string> dropped_;
};

}  // namespace comptroller::store
