// The first entry of a journal.
#pragma once

#include "db/database.hpp"
#include "model/timestamp.hpp"

namespace comptroller::store {

// Appends the entry "journal.begin", which has the records that the store already contains as one
// batch. Does nothing if there are entries.
void begin_journal(db::Connection& connection, Timestamp now);

}  // namespace comptroller::store
