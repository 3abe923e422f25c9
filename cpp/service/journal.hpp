// The head of the journal, its proofs, its archives, and the check of all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "journal/note.hpp"
#include "model/changes.hpp"
#include "service/scans.hpp"
#include "store/journal.hpp"
#include "store/journal_records.hpp"
#include "store/journal_snapshot.hpp"

namespace comptroller::service {

struct JournalQuery {
  std::uint64_t from = 0;  // the first sequence number
  std::uint64_t limit = 100;
  bool only_batches = false;
};

// The journal at a time: the number of its entries, and the root of their tree in hexadecimal.
struct JournalHead {
  std::uint64_t size = 0;
  std::string root;
};

// The head of the journal in the snapshot of a scan; none before it was read, and for clients. Safe
// for many threads.
class ObservedHead {
 public:
  std::optional<JournalHead> get() const {
    const std::lock_guard guard(mutex_);
    return head_;
  }
  void set(JournalHead head) {
    const std::lock_guard guard(mutex_);
    head_ = std::move(head);
  }

 private:
  mutable std::mutex mutex_;
  std::optional<JournalHead> head_;
};
// Returns a scan that sets `head` when it reads. Where writes run at once, the scan may see changes
// whose entries follow the head.
Scan observe_head(Service& service, Scan scan, const Principal& principal,
                  std::shared_ptr<ObservedHead> head);

// Each function throws insufficient_scope unless the principal may read as the operator.

// Returns {"items": [...]}, the entries as canonical JSON, in order.
std::string journal_entries(Service& service, const Principal& principal,
                            const JournalQuery& query);

// Returns the size and the root of the present tree, or of that of a snapshot. The principal may
// also be a client that may read the journal.
JournalHead journal_head(Service& service, const Principal& principal);
// Returns the head at a time when the journal had `size` entries. Throws invalid_request if it has
// fewer, or if not only these are archived.
JournalHead earlier_head(Service& service, const Principal& principal, std::uint64_t size);
JournalHead journal_head(db::Connection& snapshot);

// Returns a checkpoint with the head, signed; the name of the key is its origin.
std::string signed_checkpoint(const journal::SigningKey& key, const JournalHead& head);
// Returns the head of a checkpoint; throws invalid_request unless the key signed it.
JournalHead opened_checkpoint(const std::string& note, const std::string& verifier_key);

// Returns the proof that an entry is in the tree of a head (RFC 9162, 2.1.3). The snapshot must
// have the entry: archived ones are not proven.
InclusionProof prove_entry(db::Connection& snapshot, std::uint64_t sequence,
                           const JournalHead& head);

// Returns {"size", "root", "records", "entries", "findings"} for records and their entries: what a
// batch inserted, and later changes. With proofs, the store is verified, which has the findings,
// and records and entries have their proofs of inclusion.
std::string record_histories(Service& service, const Principal& principal,
                             const std::vector<store::RecordName>& names, bool with_proofs);

// Returns [[table, id], ...]; see store::find_moved_records.
std::string moved_records(Service& service, const Principal& principal,
                          const std::vector<std::string>& texts, bool is_in_any_case);

// Deletes entries that a durable file has (store/journal_snapshot.hpp).
void archive_journal(Service& service, const Principal& principal, const store::ArchiveFile& file);

// Checks entries and records (store/journal_check.hpp), and that the tree begins with that of an
// earlier checkpoint. Returns {"ok", "size", "root", "findings", "archived"}. Throws
// invalid_request if all entries of the checkpoint are archived.
std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<JournalHead>& earlier);

}  // namespace comptroller::service
