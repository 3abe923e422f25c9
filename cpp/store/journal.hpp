// The journal's table: appends entries and reads them (docs/concepts/journal.md).
#pragma once

#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "journal/tree.hpp"
#include "model/records/journal.hpp"
#include "model/timestamp.hpp"

namespace comptroller::store {

// The end of the operations of loads, such as "claims.load".
inline constexpr std::string_view end_of_load = ".load";

// By whom, when and how records are written.
struct Origin {
  Timestamp recorded_at = {};
  std::string_view actor = {};      // see Principal::actor
  std::string_view operation = {};  // such as "controls.create"
  std::optional<std::string> request_id = {};
  std::optional<std::string> idempotency_key = {};  // 32 bytes, the SHA-256 of the key
};

// The part of an entry that its change determines.
struct NewEntry {
  std::string_view resource;             // a table; empty for a batch
  std::optional<std::int64_t> key = {};  // of the record
  std::string_view id = {};              // of the record
  std::string_view customer = {};        // empty for a batch of several customers
  std::string content = {};              // a canonical JSON object: after, archive, batch or before
  std::string record_hashes = {};        // see record_hash_size
};

// Of each record of a batch, the entry keeps the first bytes of its hash, in the order of the
// batch's tables and their keys. The root decides whether a record was altered; these say which.
inline constexpr std::size_t record_hash_size = 2;

// The tree of the journal as this process last extended it, so that an append need not read it
// again; the stored bytes of the hash of its last entry then, and the writing_state of the
// connection, of which the tree is; 0 if it may be of another state.
struct JournalTreeCache {
  std::mutex mutex;
  journal::Tree tree;
  std::string last_hash;
  std::uint64_t writing_state = 0;
};

// The number of entries, with the archived ones.
std::uint64_t journal_size(db::Connection& connection);
// The number of entries that were moved to files: the first ones.
std::uint64_t archived_size(db::Connection& connection);
// The sequence number of the entry of the archive that has an entry; nullopt if none has it.
std::optional<std::int64_t> archive_of(db::Connection& connection, std::uint64_t sequence);
// The sequence number of the entry of the newest archive; -1 if there is none.
std::int64_t entry_of_newest_archive(db::Connection& connection);
// Whether the content of an entry is that of an archive.
bool is_archive(std::string_view content);
// The values that select the entries of indexes by their column effects; see the migration.
inline constexpr std::int64_t effect_removed = 1;
inline constexpr std::int64_t effect_links = 2;
inline constexpr std::int64_t effect_status = 4;
// Returns the effects of a change, from the content of its entry.
std::int64_t effects_of(std::string_view content);
// The member that has the status of the records of a table; empty if they have none.
std::string_view status_member(std::string_view table);
// Returns the status of a record after an entry that does not name it, from the next entry that
// changes it; nullopt if there is none. Takes the same work for any number of entries.
std::optional<std::string> status_after(db::Connection& connection, std::string_view table,
                                        std::int64_t key, std::int64_t sequence);
// The record_hashes of an entry.
std::string read_record_hashes(db::Connection& connection, std::uint64_t sequence);

// Appends an entry in the connection's transaction. It may get its sequence number later.
void append_entry(db::Connection& connection, JournalTreeCache& cache, const Origin& origin,
                  const NewEntry& entry);

// Sequence numbers, where writes run at the same time (Connection::sequences_later). A write keeps
// its entries of records in `journal_pending`, in its own transaction and without a lock. Then one
// write at a time gives the entries of committed writes their sequence numbers and their hashes.
//
// The places of pending entries ascend as they are inserted. So of two writes of one record, the
// entries of the first one have the lower places, and are visible whenever those of the second are.

// The maximum number of entries of one batch.
inline constexpr std::size_t max_sequenced = 2'000;
// The places of pending entries begin here, after all sequence numbers.
inline constexpr std::uint64_t first_pending = std::uint64_t{1} << 62;

// Whether committed entries have no sequence number. Only if the dialect has pending entries.
bool has_pending_entries(db::Connection& connection);
// Gives up to max_sequenced entries their sequence numbers, in a write; returns how many, or
// nullopt if another write does and this one does not wait for it.
std::optional<std::size_t> sequence_entries(db::Connection& connection, JournalTreeCache& cache,
                                            bool waits);
// Gives all committed entries, and those of this write, their sequence numbers. Until this write
// ends, no other entry gets one, and its further entries follow at once.
void lock_journal(db::Connection& connection, JournalTreeCache& cache);

// Returns the hash of a complete subtree; see journal::ReadHash. Of archived entries, the store has
// those of which their tree consists, which suffice for the tree, and for proofs of later entries.
journal::Hash read_hash(db::Connection& connection, unsigned level, std::uint64_t index);
inline journal::ReadHash hash_reader(db::Connection& connection) {
  return [&connection](unsigned level, std::uint64_t index) {
    return read_hash(connection, level, index);
  };
}

// Returns what the row of an entry has of the hashes of the subtrees that it completes: the first 8
// bytes of that of the entry itself, and those of subtrees with at least 16 entries.
std::string stored_hashes(std::span<const journal::Hash> completed);

// A stored entry. `text` is its canonical JSON, whose SHA-256 (RFC 9162, leaf) is in the tree.
struct Entry {
  std::uint64_t sequence = 0;
  std::string text;
  std::string_view content;  // see NewEntry
  std::int64_t effects = 0;  // see the migration
  std::string_view hashes;   // see the migration
};
// A record: its table and its key.
using RecordKey = std::pair<std::string, std::int64_t>;

// Selects entries with from <= sequence < end; archived ones are left out.
struct EntrySelection {
  std::uint64_t from = 0;
  std::uint64_t end = INT64_MAX;
  std::optional<std::string> resource = {};            // of these records
  std::optional<std::vector<RecordKey>> records = {};  // of these records
  std::optional<std::string> customer = {};            // of its records
  bool only_batches = false;                           // also archives
};
// Calls `visit` with each selected entry, in order, until it returns false.
void visit_entries(db::Connection& connection, const EntrySelection& selection,
                   const std::function<bool(const Entry&)>& visit);

// Returns the parts of a batch or archive, from the content of its entry; nothing for another
// entry.
std::vector<BatchPart> batch_parts(std::string_view content);

}  // namespace comptroller::store
