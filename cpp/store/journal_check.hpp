// Checks the journal against the records.
#pragma once

#include <vector>

#include "db/database.hpp"
#include "journal/hash.hpp"
#include "store/invariants.hpp"

namespace comptroller::store {

struct JournalCheck {
  std::uint64_t size = 0;  // the number of entries
  journal::Hash root{};    // of the tree over them
  std::vector<Finding> findings;
};

// Computes the tree again from the entries, and each record's content from its entries, newest
// first. A finding names each entry and record that differs; of a batch, only the batch.
JournalCheck check_journal(db::Connection& connection);

}  // namespace comptroller::store
