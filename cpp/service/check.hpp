// Whether a store is sound: SQLite's own check, and what this service promises of its records.
#pragma once

#include <string>

#include "service/service.hpp"

namespace comptroller::service {

// {"ok": bool, "findings": [{"check", "message"}, ...], "sqlite_version", "sqlite_copies": [path,
// ...],
//  "rows": {table: count}}. Reads only. More than one copy of SQLite in the process is a finding:
//  they
// cancel each other's file locks.
std::string check(Service& service);

}  // namespace comptroller::service
