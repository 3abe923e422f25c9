#include "store/journal_records.hpp"

#include <algorithm>
#include <ranges>

#include "json/canonical.hpp"
#include "store/columns.hpp"
#include "store/journal.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

void sort(Batches& batches) {
  for (auto& [table, list] : batches) std::ranges::sort(list, {}, &BatchOfTable::first_key);
}

// Reads the entries of a record, and its content in the batch that has it.
void read_entries(db::Connection& connection, const Batches& batches, RecordHistory& record) {
  db::Query rows = connection.query(
      "SELECT sequence, content FROM journal INDEXED BY journal_by_record"
      " WHERE resource = ? AND key = ? ORDER BY sequence");
  rows.bind(1, connection.symbols().find(record.table).value_or(0)).bind(2, record.key);
  std::vector<json::RawMembers> contents;
  while (rows.step()) {
    record.entries.push_back(static_cast<std::uint64_t>(rows.number(0)));
    contents.push_back(json::raw_members(require_text(rows.column(1))));
  }
  const BatchOfTable* batch = find_batch(batches, record.table, record.key);
  if (batch == nullptr) return;
  record.inserted_by = batch->sequence;
  json::RawMembers state;
  if (record.content) state = json::raw_members(*record.content);
  for (std::size_t entry = contents.size(); entry-- > 0;) {
    // A load's changes of its own records precede its entry.
    const bool is_later = !batch->is_of_archive || record.entries[entry] > batch->sequence;
    if (is_later) undo(state, contents[entry]);
  }
  record.inserted = json::to_object(state);
}

}  // namespace

void add_batches(Batches& batches, std::uint64_t sequence, std::string_view content) {
  if (is_archive(content)) batches.clear();
  std::size_t before = 0;
  for (BatchPart& part : batch_parts(content)) {
    batches[part.resource].push_back({sequence, static_cast<std::int64_t>(part.first_key),
                                      static_cast<std::int64_t>(part.last_key), part.count,
                                      std::move(part.root), before, is_archive(content)});
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

void undo(json::RawMembers& record, const json::RawMembers& content) {
  const auto after = content.find("after");
  if (after != content.end()) {
    for (const auto& [member, value] : json::raw_members(after->second)) record.erase(member);
  }
  const auto before = content.find("before");
  if (before == content.end()) return;
  for (const auto& [member, value] : json::raw_members(before->second)) record[member] = value;
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
