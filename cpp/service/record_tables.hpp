// The tables of records with their columns, for users of SQL.
#pragma once

#include <vector>

#include "store/readable_views.hpp"

namespace comptroller::service {

inline std::vector<db::ReadableView> record_tables() {
  return store::readable_views();
}

}  // namespace comptroller::service
