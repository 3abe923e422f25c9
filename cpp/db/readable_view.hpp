// A view for people who read the store with SQL: it shows text ids, ISO times and the texts of
// closed sets in place of the stored values.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/storage_class.hpp"

namespace comptroller::db {

struct ReadableColumn {
  std::string_view name;
  StorageClass storage;
  std::span<const std::string_view> texts;  // the texts of a code
};

struct ReadableView {
  std::string_view table;
  std::vector<ReadableColumn> columns;

  // Returns the name, readable_<table>.
  std::string name() const;
  // Returns the SELECT of the view. `expressions` show the stored values of storage classes; @
  // stands for the column. Values of other classes are shown as stored.
  std::string select(std::span<const std::pair<StorageClass, const char*>> expressions) const;
};

}  // namespace comptroller::db
