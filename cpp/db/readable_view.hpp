// A view for people who read the store with SQL: it shows text ids, ISO times and the texts of
// closed sets in place of the stored values.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/storage_class.hpp"

namespace comptroller::db {

struct ReadableColumn {
  std::string_view name;
  StorageClass storage;
  std::span<const std::string_view> texts;  // the texts of a code
};

// The view is called readable_<table>.
struct ReadableView {
  std::string_view table;
  std::vector<ReadableColumn> columns;
};

}  // namespace comptroller::db
