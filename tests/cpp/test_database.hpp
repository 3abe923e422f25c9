// A store of its own for a test: an SQLite file, or on another engine.
#pragma once

#include "db/sqlite/database.hpp"

namespace comptroller::db {

using OpenTestDatabase = std::unique_ptr<Database> (*)();

// Opens the store on the engine that the tests are to use; null for SQLite.
inline OpenTestDatabase open_on_tested_engine = nullptr;

inline bool tests_use_sqlite() {
  return open_on_tested_engine == nullptr;
}

inline std::unique_ptr<Database> open_test_database() {
  if (open_on_tested_engine != nullptr) return open_on_tested_engine();
  return sqlite::open("", {.is_temporary = true});
}

}  // namespace comptroller::db
