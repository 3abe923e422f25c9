// What the journal says of single records: their entries, and the batch that inserted them.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "db/database.hpp"
#include "model/fields.hpp"
#include "store/record_entries.hpp"

namespace comptroller::store {

// The records of one table in one batch, or in the digest that an archive has of all records.
struct BatchOfTable {
  std::uint64_t sequence = 0;  // of the entry
  std::int64_t first_key = 0;
  std::int64_t last_key = 0;
  std::uint64_t count = 0;
  std::string root;                      // hexadecimal
  std::size_t record_hashes_before = 0;  // the number of record_hashes of earlier tables
  std::size_t place = 0;                 // of the table in the entry
  bool is_of_archive = false;            // it has the records as they were then
};
using Batches = std::map<std::string, std::vector<BatchOfTable>, std::less<>>;  // by table

// Adds the batches of an entry, if its content has any. Those of an archive replace all others: it
// has the records that were in the store then.
void add_batches(Batches& batches, std::uint64_t sequence, std::string_view content);
// Returns the batch that has a key; null if there is none.
const BatchOfTable* find_batch(const Batches& batches, std::string_view table, std::int64_t key);

// An entry of a record by which a load changed it, and the entry of that load.
struct ChangeByLoad {
  RECORD(ChangeByLoad);
  FIELD(std::uint64_t, entry);
  FIELD(std::uint64_t, load);
};

struct RecordHistory {
  std::string table;
  std::int64_t key = 0;
  std::optional<std::string> content = {};        // canonical JSON; nullopt if it was deleted
  std::vector<std::uint64_t> entries = {};        // the sequence numbers
  std::optional<std::uint64_t> inserted_by = {};  // the entry of the batch that has the record
  std::string inserted = {};                      // its content in the batch
  std::optional<std::uint64_t> loaded_by = {};    // the entry of the load that inserted it
  std::vector<ChangeByLoad> changed_by = {};
};

// Finds what the journal says of single records of a snapshot.
class RecordHistories {
 public:
  explicit RecordHistories(db::Connection& connection);

  const Batches& batches() const { return batches_; }
  // Returns the records of a table with an id, or of an address the balances. Those that were
  // removed have only entries.
  std::vector<RecordHistory> find(std::string_view table, const std::string& id);

 private:
  void find_present(std::string_view table, const std::string& id,
                    std::vector<RecordHistory>& found);
  void find_removed(std::string_view table, const std::string& id,
                    std::vector<RecordHistory>& found);
  void read_entries(RecordHistory& record);
  std::optional<std::uint64_t> load_of(const RecordEntry& entry) const;

  db::Connection& connection_;
  Batches batches_;                                   // that prove the present records
  Batches loads_;                                     // all loads that are not archived
  std::map<std::uint64_t, std::int64_t> operations_;  // of the entries of batches, by sequence
};

// The table and the id of a record; of balances, the id of the address.
using RecordName = std::pair<std::string, std::string>;

// Returns records that were removed, or got another group, identity or addresses, if the entry of
// this has one of the texts in its canonical JSON.
std::vector<RecordName> find_moved_records(db::Connection& connection,
                                           const std::vector<std::string>& texts,
                                           bool is_in_any_case);

}  // namespace comptroller::store
