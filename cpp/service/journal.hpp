// Reads and checks the journal, for the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "journal/checkpoint.hpp"
#include "service/service.hpp"

namespace comptroller::service {

struct JournalQuery {
  std::uint64_t from = 0;  // the first sequence number
  std::uint64_t limit = 100;
  std::optional<std::string> resource = {};  // a table, such as claims
  std::optional<std::string> id = {};        // of a record: its entries, and that of its batch
};

// Each function throws insufficient_scope unless the principal may read as the operator.

// Returns {"items": [...]}, the entries as canonical JSON, in order.
std::string journal_entries(Service& service, const Principal& principal,
                            const JournalQuery& query);

// Returns the size and the root of the present tree.
journal::Checkpoint journal_head(Service& service, const Principal& principal, std::string origin);

// Returns the entry, its sequence number, size and root of the present tree, and the proof of
// inclusion (RFC 9162, 2.1.3), with hashes as hexadecimal digits. Throws not_found.
std::string prove_entry(Service& service, const Principal& principal, std::uint64_t sequence);

// Checks entries and records (store/journal_check.hpp), and that the tree begins with that of an
// earlier checkpoint. Returns {"ok", "size", "root", "findings"}.
std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<journal::Checkpoint>& earlier);

}  // namespace comptroller::service
