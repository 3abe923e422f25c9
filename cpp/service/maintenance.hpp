// What concerns a store as a whole and every customer in it, so the operator alone may ask for it.
#pragma once

#include <string>

#include "service/service.hpp"

namespace comptroller::service {

// Whether the store is sound: the database's own check, and what this service promises of its
// records.
//
//   {"ok": bool, "findings": [{"check", "message"}, ...], "engine": name and version,
//    "copies": [path of the engine's library, ...], "rows": {table: count}}
//
// Reads only. More than one copy of the engine in the process is a finding: they cancel each
// other's file locks.
// Refuses a client: insufficient_scope.
std::string check(Service& service, const Principal& principal);

// A consistent copy in a new file that holds every write answered before. Refuses:
// insufficient_scope, invalid_request (one of the store's own files), unavailable (the file is
// there already or cannot be written; the path is named).
void backup(Service& service, const Principal& principal, const std::string& destination);

}  // namespace comptroller::service
