#include "store/journal_records.hpp"

#include <algorithm>
#include <ranges>

#include "json/canonical.hpp"
#include "model/ascii.hpp"
#include "store/columns.hpp"
#include "store/journal.hpp"
#include "store/sql.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

void sort(Batches& batches) {
  for (auto& [table, list] : batches) std::ranges::sort(list, {}, &BatchOfTable::first_key);
}

// Shows a record as its last entry with a sequence number left it.
void leave_out_pending(RecordHistory& record, std::vector<RecordEntry>& entries) {
  const auto pending = std::ranges::find_if(
      entries, [](const RecordEntry& entry) { return entry.sequence >= first_pending; });
  if (pending == entries.end()) return;
  std::optional<json::RawMembers> state;
  if (record.content) state = json::raw_members(*record.content);
  state = unwind(std::move(state), {pending, entries.end()});
  record.content.reset();
  if (state) record.content = json::to_object(*state);
  entries.erase(pending, entries.end());
}

}  // namespace

void add_batches(Batches& batches, std::uint64_t sequence, std::string_view content) {
  if (is_archive(content)) batches.clear();
  std::size_t before = 0;
  std::size_t place = 0;
  for (BatchPart& part : batch_parts(content)) {
    BatchOfTable& batch = batches[part.resource].emplace_back();
    batch.sequence = sequence;
    batch.first_key = static_cast<std::int64_t>(part.first_key);
    batch.last_key = static_cast<std::int64_t>(part.last_key);
    batch.count = part.count;
    batch.root = std::move(part.root);
    batch.record_hashes_before = before;
    batch.place = place++;
    batch.is_of_archive = is_archive(content);
    before += part.count;
  }
}

const BatchOfTable* find_batch(const Batches& batches, std::string_view table, std::int64_t key) {
  const auto of_table = batches.find(table);
  if (of_table == batches.end()) return nullptr;
  const auto found = std::ranges::lower_bound(of_table->second, key, {}, &BatchOfTable::last_key);
  if (found == of_table->second.end() || found->first_key > key) return nullptr;
  return &*found;
}

RecordHistories::RecordHistories(db::Connection& connection) : connection_(connection) {
  db::Query rows = connection.query(
      "SELECT sequence, content, operation FROM journal INDEXED BY journal_of_batches"
      " WHERE key IS NULL ORDER BY sequence");
  while (rows.step()) {
    const auto sequence = static_cast<std::uint64_t>(rows.number(0));
    const std::string_view content = require_text(rows.column(1));
    add_batches(batches_, sequence, content);
    if (!is_archive(content)) add_batches(loads_, sequence, content);
    operations_.emplace(sequence, rows.number(2));
  }
  sort(batches_);
  sort(loads_);
}

std::vector<RecordHistory> RecordHistories::find(std::string_view table, const std::string& id) {
  std::vector<RecordHistory> found;
  find_removed(table, id, found);
  find_present(table, id, found);
  for (RecordHistory& record : found) read_entries(record);
  // All entries of a record may still be without a sequence number.
  std::erase_if(
      found, [](const RecordHistory& record) { return !record.content && record.entries.empty(); });
  return found;
}

void RecordHistories::find_present(std::string_view table, const std::string& id,
                                   std::vector<RecordHistory>& found) {
  visit_table(table, [&]<class R>() {
    constexpr bool has_id = requires(R record) { record.id; };
    BoundValues values(connection_.symbols());
    const bool is_symbol = [] {
      if constexpr (has_id) return storage_class<decltype(R::id)>() == StorageClass::symbol;
      return false;
    }();
    const Value value =
        is_symbol ? Value::of(connection_.symbols().find(id).value_or(0)) : values.identifier(id);
    db::Query rows =
        connection_.query("SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) +
                          " WHERE " + (has_id ? "id" : "address_id") + " = ?");
    rows.bind(1, value);
    while (rows.step()) {
      RecordHistory record{std::string(R::table), rows.number(static_cast<int>(field_count<R>))};
      json::append_canonical<R>(record.content.emplace(), Row{rows, connection_.symbols()});
      found.push_back(std::move(record));
    }
  });
}

void RecordHistories::find_removed(std::string_view table, const std::string& id,
                                   std::vector<RecordHistory>& found) {
  BoundValues values(connection_.symbols());
  db::Query rows = connection_.query(
      "SELECT key FROM journal INDEXED BY journal_of_removed"
      " WHERE (effects & 1) <> 0 AND id = ? AND resource = ? ORDER BY key");
  rows.bind(1, values.identifier(id)).bind(2, connection_.symbols().find(table).value_or(0));
  while (rows.step()) found.push_back({std::string(table), rows.number(0)});
}

// Reads the entries of a record, and its content in the batch that has it.
void RecordHistories::read_entries(RecordHistory& record) {
  RecordEntries reader(connection_,
                       {.table = record.table, .first_key = record.key, .last_key = record.key});
  std::vector<RecordEntry> entries;
  if (reader.key()) entries = reader.take();
  leave_out_pending(record, entries);
  for (const RecordEntry& entry : entries) {
    record.entries.push_back(entry.sequence);
    if (const auto load = load_of(entry)) record.changed_by.push_back({entry.sequence, *load});
  }
  const BatchOfTable* load = find_batch(loads_, record.table, record.key);
  const bool is_alone = is_inserted_alone(entries);
  if (load != nullptr && !is_alone) record.loaded_by = load->sequence;
  const BatchOfTable* batch = find_batch(batches_, record.table, record.key);
  if (batch == nullptr || (is_alone && !batch->is_of_archive)) return;
  // The changes that a load makes of its own records precede its entry.
  if (batch->is_of_archive) {
    std::erase_if(entries,
                  [&](const RecordEntry& entry) { return entry.sequence < batch->sequence; });
  }
  std::optional<json::RawMembers> state;
  if (record.content) state = json::raw_members(*record.content);
  state = unwind(std::move(state), entries);
  if (!state && batch->is_of_archive) return;  // it was removed before the archive
  record.inserted_by = batch->sequence;
  record.inserted = json::to_object(state.value_or(json::RawMembers{}));
}

// Returns the entry of the load that made a change. It is the first one of a batch after the
// change, because a load appends it last in each of its transactions, and nothing else writes in
// between.
std::optional<std::uint64_t> RecordHistories::load_of(const RecordEntry& entry) const {
  const auto next = operations_.upper_bound(entry.sequence);
  if (next == operations_.end() || next->second != entry.operation) return std::nullopt;
  return next->first;
}

std::vector<RecordName> find_moved_records(db::Connection& connection,
                                           const std::vector<std::string>& texts,
                                           bool is_in_any_case) {
  Sql sql{
      "SELECT DISTINCT resource, id FROM journal INDEXED BY journal_of_links"
      " WHERE (effects & 2) <> 0 AND (FALSE",
      {}};
  // The lower() of a database may change letters that are not ASCII, by its locale.
  std::vector<std::string> sought = texts;
  for (std::string& text : sought) {
    if (is_in_any_case) std::ranges::transform(text, text.begin(), to_lower);
    sql.add(is_in_any_case ? " OR instr(lower(content), ?) > 0" : " OR instr(content, ?) > 0",
            Value::of(std::string_view(text)));
  }
  db::Query rows = sql.add(")").query(connection);
  std::vector<RecordName> found;
  while (rows.step()) {
    Id id;
    Column<Id>::read(rows.column(1), connection.symbols(),
                     [&](const auto& view) { assign(id, view); });
    found.emplace_back(connection.symbols().text(rows.number(0)), std::move(id.value));
  }
  return found;
}

}  // namespace comptroller::store
