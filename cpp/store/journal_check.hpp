// Checks the journal against the records.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "db/database.hpp"
#include "journal/hash.hpp"
#include "store/invariants.hpp"

namespace comptroller::store {

struct JournalCheck {
  std::uint64_t size = 0;      // the number of entries that have a sequence number
  std::uint64_t archived = 0;  // of these, the first ones, which are only in files
  journal::Hash root{};        // of the tree over them
  std::vector<Finding> findings;
};

// The proof that a record is in the batch that has it (RFC 9162, 2.1.3).
struct RecordProof {
  std::uint64_t sequence = 0;  // of the batch
  std::uint64_t index = 0;     // of the record in its table
  std::vector<journal::Hash> path = {};
};
// By key. The map of a table has the keys of the wanted proofs before the check.
using RecordProofs = std::map<std::int64_t, RecordProof>;

// Computes the tree again from the entries, and each record's content from its entries, newest
// first. A finding names each entry and record that differs. The entries before an archive prove
// nothing of records, because the archive has the digest of all of them. `proofs`, by table, gets
// the proofs of the records that a batch has; the check keeps 64 bytes for each record of their
// batches.
JournalCheck check_journal(db::Connection& connection,
                           std::map<std::string, RecordProofs, std::less<>>* proofs = nullptr);

}  // namespace comptroller::store
