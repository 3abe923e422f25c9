#include "store/record_entries.hpp"

#include <ranges>

#include "store/columns.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

namespace {

Sql select_entries(db::Connection& connection, const RecordEntrySelection& selection) {
  const Value resource = Value::of(connection.symbols().find(selection.table).value_or(0));
  Sql sql;
  const auto add_arm = [&](std::string_view position, std::string_view table) {
    sql.add("SELECT key, ").add(position).add(", content, id, customer_id, operation FROM ");
    sql.add(table).add(" WHERE key IS NOT NULL AND resource = ?", resource);
    sql.add(" AND key >= ?", Value::of(selection.first_key));
    sql.add(" AND key <= ?", Value::of(selection.last_key));
  };
  add_arm("sequence", "journal INDEXED BY journal_by_record");
  sql.add(" AND sequence > ?", Value::of(selection.after));
  if (connection.dialect().has_pending_entries) {
    sql.add(" UNION ALL ");
    add_arm("place", "journal_pending");
  }
  return sql.add(selection.is_first_only ? " ORDER BY 1, 2 LIMIT 1" : " ORDER BY 1, 2");
}

db::Query entries_query(db::Connection& connection, const RecordEntrySelection& selection) {
  const Sql sql = select_entries(connection, selection);
  const bool is_one = selection.first_key == selection.last_key;
  return is_one ? sql.query(connection) : sql.query_many(connection);
}

}  // namespace

void expect_entries(db::Connection& connection, std::string_view table,
                    std::span<const std::int64_t> keys, std::int64_t after) {
  if (keys.empty()) return;
  const auto select = [&](std::int64_t key) {
    return select_entries(connection, {table, key, key, after});
  };
  connection.read_ahead(select(keys.front()).text, keys.size(),
                        [&](std::size_t run) { return select(keys[run]).values; });
}

RecordEntries::RecordEntries(db::Connection& connection, const RecordEntrySelection& selection)
    : connection_(connection), rows_(entries_query(connection, selection)) {
  step();
}

std::vector<RecordEntry> RecordEntries::take() {
  std::vector<RecordEntry> entries;
  const auto key = key_;
  while (key_ == key) {
    RecordEntry entry;
    entry.sequence = static_cast<std::uint64_t>(rows_.number(1));
    entry.content = require_text(rows_.column(2));
    Id id;
    Column<Id>::read(rows_.column(3), connection_.symbols(),
                     [&](const auto& view) { assign(id, view); });
    entry.id = std::move(id.value);
    if (!rows_.column(4).is_null()) entry.customer = rows_.number(4);
    entry.operation = rows_.number(5);
    entries.push_back(std::move(entry));
    step();
  }
  return entries;
}

bool is_inserted_alone(const std::vector<RecordEntry>& entries, std::uint64_t end) {
  if (entries.empty() || entries.front().sequence >= end) return false;
  const json::RawMembers content = json::raw_members(entries.front().content);
  return content.contains("after") && !content.contains("before");
}

void undo(json::RawMembers& record, const json::RawMembers& content) {
  for (const auto& [member, value] : json::raw_members(content.at("after"))) record.erase(member);
  for (const auto& [member, value] : json::raw_members(content.at("before"))) {
    record[member] = value;
  }
}

std::optional<json::RawMembers> unwind(std::optional<json::RawMembers> state,
                                       const std::vector<RecordEntry>& entries) {
  for (const RecordEntry& entry : std::views::reverse(entries)) {
    const json::RawMembers content = json::raw_members(entry.content);
    const auto after = content.find("after");
    const auto before = content.find("before");
    if (after == content.end()) {
      state = json::raw_members(before == content.end() ? "{}" : before->second);
    } else if (before == content.end()) {
      state.reset();
    } else if (state) {
      undo(*state, content);
    }
  }
  return state;
}

}  // namespace comptroller::store
