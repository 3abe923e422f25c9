// The entries of the records of one table, in order of key.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "db/database.hpp"
#include "json/raw_members.hpp"

namespace comptroller::store {

// Selects entries of the records with first_key <= key <= last_key.
struct RecordEntrySelection {
  std::string_view table;
  std::int64_t first_key = 0;
  std::int64_t last_key = INT64_MAX;
  std::int64_t after = -1;     // only entries after this sequence number
  bool is_first_only = false;  // only the first of all these entries
};

// One entry of a record: what it says of the change.
struct RecordEntry {
  std::uint64_t sequence = 0;  // or its place (store/journal.hpp)
  std::string content;         // see NewEntry
  std::string id;              // of the record
  std::int64_t customer = 0;   // the key of its symbol; 0 for a balance
  std::int64_t operation = 0;  // the key of its symbol
};

// Announces that the entries of each of these records after `after` will be selected alone.
void expect_entries(db::Connection& connection, std::string_view table,
                    std::span<const std::int64_t> keys, std::int64_t after);

// The selected entries, in order of key, then of sequence; those without a sequence come last.
class RecordEntries {
 public:
  RecordEntries(db::Connection& connection, const RecordEntrySelection& selection);

  // The key of the next record with entries.
  std::optional<std::int64_t> key() const { return key_; }
  // Returns the entries of that record, and goes on.
  std::vector<RecordEntry> take();

 private:
  void step() { key_ = rows_.step() ? std::optional(rows_.number(0)) : std::nullopt; }

  db::Connection& connection_;
  db::Query rows_;
  std::optional<std::int64_t> key_;
};

// Whether the record has an entry of its insertion before the entry `end`, so that it is no record
// of a batch, although its key may be between those of a batch. `entries` are its first ones.
bool is_inserted_alone(const std::vector<RecordEntry>& entries, std::uint64_t end = UINT64_MAX);

// Changes the members of a record to those before a change with this content, which has both
// "after" and "before".
void undo(json::RawMembers& record, const json::RawMembers& content);
// Returns the members of a record before the first of its `entries`, from those after the last of
// them; nullopt if there is no record. Does not check that the entries fit.
std::optional<json::RawMembers> unwind(std::optional<json::RawMembers> state,
                                       const std::vector<RecordEntry>& entries);

}  // namespace comptroller::store
