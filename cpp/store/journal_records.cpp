#include "store/journal_records.hpp"

#include <algorithm>
#include <ranges>

#include "json/canonical.hpp"
#include "store/columns.hpp"
#include "store/journal.hpp"
#include "store/record_entries.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

void sort(Batches& batches) {
  for (auto& [table, list] : batches) std::ranges::sort(list, {}, &BatchOfTable::first_key);
}

// Reads the entries of a record, and its content in the batch that has it.
void read_entries(db::Connection& connection, const Batches& batches, RecordHistory& record) {
  RecordEntries reader(connection,
                       {.table = record.table, .first_key = record.key, .last_key = record.key});
  std::vector<RecordEntry> entries;
  if (reader.key()) entries = reader.take();
  for (const RecordEntry& entry : entries) record.entries.push_back(entry.sequence);
  const BatchOfTable* batch = find_batch(batches, record.table, record.key);
  if (batch == nullptr) return;
  record.inserted_by = batch->sequence;
  // The changes that a load makes of its own records precede its entry.
  if (batch->is_of_archive) {
    std::erase_if(entries,
                  [&](const RecordEntry& entry) { return entry.sequence < batch->sequence; });
  }
  std::optional<json::RawMembers> state;
  if (record.content) state = json::raw_members(*record.content);
  record.inserted = json::to_object(unwind(std::move(state), entries).value_or(json::RawMembers{}));
}

}  // namespace

void add_batches(Batches& batches, std::uint64_t sequence, std::string_view content) {
  if (is_archive(content)) batches.clear();
  std::size_t before = 0;
  std::size_t place = 0;
  for (BatchPart& part : batch_parts(content)) {
    batches[part.resource].push_back({sequence, static_cast<std::int64_t>(part.first_key),
                                      static_cast<std::int64_t>(part.last_key), part.count,
                                      std::move(part.root), before, place++, is_archive(content)});
    before += part.count;
  }
}

Batches read_batches(db::Connection& connection) {
  Batches batches;
  db::Query rows = connection.query(
      "SELECT sequence, content FROM journal INDEXED BY journal_of_batches"
      " WHERE key IS NULL ORDER BY sequence");
  while (rows.step()) {
    add_batches(batches, static_cast<std::uint64_t>(rows.number(0)), require_text(rows.column(1)));
  }
  sort(batches);
  return batches;
}

const BatchOfTable* find_batch(const Batches& batches, std::string_view table, std::int64_t key) {
  const auto of_table = batches.find(table);
  if (of_table == batches.end()) return nullptr;
  const auto found = std::ranges::lower_bound(of_table->second, key, {}, &BatchOfTable::last_key);
  if (found == of_table->second.end() || found->first_key > key) return nullptr;
  return &*found;
}

std::vector<RecordHistory> find_histories(db::Connection& connection, const Batches& batches,
                                          std::string_view table, const std::string& id) {
  std::vector<RecordHistory> found;
  visit_table(table, [&]<class R>() {
    constexpr bool has_id = requires(R record) { record.id; };
    BoundValues values(connection.symbols());
    const bool is_symbol = [] {
      if constexpr (has_id) return storage_class<decltype(R::id)>() == StorageClass::symbol;
      return false;
    }();
    const Value value =
        is_symbol ? Value::of(connection.symbols().find(id).value_or(0)) : values.identifier(id);
    db::Query rows =
        connection.query("SELECT " + select_list<R>() + ", key FROM " + std::string(R::table) +
                         " WHERE " + (has_id ? "id" : "address_id") + " = ?");
    rows.bind(1, value);
    while (rows.step()) {
      RecordHistory record{std::string(R::table), rows.number(static_cast<int>(field_count<R>))};
      json::append_canonical<R>(record.content.emplace(), Row{rows, connection.symbols()});
      found.push_back(std::move(record));
    }
  });
  if (found.empty()) {
    BoundValues values(connection.symbols());
    db::Query rows = connection.query(
        "SELECT DISTINCT key FROM journal INDEXED BY journal_by_record"
        " WHERE resource = ? AND key IS NOT NULL AND id = ?");
    rows.bind(1, connection.symbols().find(table).value_or(0)).bind(2, values.identifier(id));
    while (rows.step()) found.push_back({std::string(table), rows.number(0)});
  }
  for (RecordHistory& record : found) read_entries(connection, batches, record);
  return found;
}

}  // namespace comptroller::store
