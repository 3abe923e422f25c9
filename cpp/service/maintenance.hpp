// Checks and copies a whole store. Operator only, because a store holds the data of all customers.
#pragma once

#include <string>

#include "service/journal.hpp"
#include "store/copying.hpp"

namespace comptroller::service {

// Checks the store: the database's own integrity check, and the invariants between records.
//
//   {"ok": bool, "findings": [{"check", "message"}, ...], "notices": [the same, ...],
//    "engine": name and version, "copies": [path of the engine's library, ...],
//    "rows": {table: count}}
//
// A notice is no damage: a large write-ahead log that a reader keeps from shrinking.
// Reads only. More than one copy of the engine in the process is a finding, because the copies
// cancel each other's file locks. Throws insufficient_scope for a client.
std::string check(Service& service, const Principal& principal);

// Makes a consistent copy in a new file, with every write that was answered before; returns the
// head of its journal. Throws insufficient_scope, invalid_request (one of the store's own files),
// unusable or unavailable (the file exists or cannot be written; the message names the path).
JournalHead backup(Service& service, const Principal& principal, const std::string& destination);

// What a copy has.
struct Copied {
  std::vector<std::pair<std::string_view, std::int64_t>> rows;  // of each table of records
  JournalHead journal;
};

// Copies all of the store, with its journal, secrets and kept answers, to the empty store `target`
// of any engine, in one transaction. Before the commit it verifies the copy as `check` does, and
// compares the numbers of rows and the root of the journal with those of the store. Throws
// insufficient_scope for a client; invalid_request if the target was used; unusable if the copy is
// not sound or differs.
Copied copy(Service& service, const Principal& principal, db::Database& target,
            const store::CopyProgress& progress);

}  // namespace comptroller::service
