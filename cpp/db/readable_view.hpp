// A view for people who read the store with SQL: text ids, ISO times and words in place of the
// values that the table holds.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "model/storage_class.hpp"

namespace comptroller::db {

struct ReadableColumn {
  std::string_view name;
  StorageClass storage;
  std::span<const std::string_view> words;  // of a code
};

// The view is called readable_<table>.
struct ReadableView {
  std::string_view table;
  std::vector<ReadableColumn> columns;
};

}  // namespace comptroller::db
