#include "store/journal.hpp"

#include <charconv>
#include <utility>

#include "json/raw_members.hpp"
#include "json/writer.hpp"
#include "model/records/orchestrations.hpp"
#include "model/records/rewards.hpp"
#include "store/sql.hpp"
#include "store/storage.hpp"

namespace comptroller::store {

namespace {

using journal::Hash;

constexpr std::size_t hash_size = sizeof(Hash);
// The bytes of an entry's hash in its row. The whole hash follows from the entry.
constexpr std::size_t short_hash_size = 8;
// Smaller subtrees are not stored: they follow from at most 8 entries.
constexpr unsigned first_stored_level = 4;

std::string_view bytes_of(std::span<const Hash> hashes) {
  return {reinterpret_cast<const char*>(hashes.data()), hashes.size_bytes()};
}

std::string_view short_hash(std::string_view hash) {
  return hash.substr(0, short_hash_size);
}

Error broken_tree(std::uint64_t sequence) {
  return Error::damaged("entry " + std::to_string(sequence) +
                        " of the journal is missing or has no hash");
}

// The columns of the journal, in the order of the functions below.
constexpr std::string_view columns =
    "sequence, recorded_at, actor, customer_id, operation, resource, key, id, content,"
    " idempotency_key, request_id, effects";

// Writes the members of an entry that follow those of its content, sorted by name.
class EntryWriter {
 public:
  EntryWriter(std::string& text, std::string_view actor, std::string_view content) : text_(text) {
    text_.clear();
    text_ += R"({"actor":)";
    append(actor);
    text_.append(1, ',').append(content.substr(1, content.size() - 2));
  }

  void write(std::string_view name, const auto& view) {
    text_.append(",\"").append(name).append("\":");
    append(view);
  }
  void close() { text_ += '}'; }

 private:
  void append(const auto& view) { json::JsonWriter(text_).write(view); }

  std::string& text_;
};

// The canonical JSON of an entry that is to be appended.
std::string canonical_text(const Origin& origin, const NewEntry& entry, std::uint64_t sequence) {
  std::string text;
  EntryWriter writer(text, origin.actor, entry.content);
  if (!entry.customer.empty()) writer.write("customer_id", entry.customer);
  if (!entry.id.empty()) writer.write("id", entry.id);
  if (origin.idempotency_key) {
    writer.write("idempotency_key", HexadecimalDigits{*origin.idempotency_key});
  }
  if (entry.key) writer.write("key", *entry.key);
  writer.write("operation", origin.operation);
  writer.write("recorded_at", origin.recorded_at);
  if (origin.request_id) writer.write("request_id", std::string_view(*origin.request_id));
  if (!entry.resource.empty()) writer.write("resource", entry.resource);
  writer.write("sequence", sequence);
  writer.close();
  return text;
}

// The canonical JSON of a stored entry.
std::string canonical_text(db::Query& row, db::Symbols& symbols) {
  const auto is_set = [&](int index) { return !row.column(index).is_null(); };
  const auto symbol = [&](int index) { return std::string(symbols.text(row.number(index))); };
  std::string text;
  EntryWriter writer(text, symbol(2), require_text(row.column(8)));
  if (is_set(3)) writer.write("customer_id", std::string_view(symbol(3)));
  if (is_set(7)) {
    Column<Id, StorageClass::identifier>::read(row.column(7), symbols,
                                               [&](const auto& id) { writer.write("id", id); });
  }
  if (is_set(9)) {
    const std::string_view digest = require_length(row.column(9), hash_size);
    writer.write("idempotency_key", HexadecimalDigits{digest});
  }
  if (is_set(6)) writer.write("key", row.number(6));
  writer.write("operation", std::string_view(symbol(4)));
  writer.write("recorded_at", require_time(row.number(1)));
  if (is_set(10)) writer.write("request_id", require_text(row.column(10)));
  if (is_set(5)) writer.write("resource", std::string_view(symbol(5)));
  writer.write("sequence", row.number(0));
  writer.close();
  return text;
}

// Returns a number; 0 if it is missing.
std::uint64_t number_of(const json::RawMembers& members, std::string_view name) {
  const auto found = members.find(name);
  std::uint64_t number = 0;
  if (found != members.end()) {
    const std::string& text = found->second;
    std::from_chars(text.data(), text.data() + text.size(), number);
  }
  return number;
}

// Brings the head to the state of the connection's transaction. If this is not the state after the
// last append, the hash of the last entry shows whether a write was undone, or another process has
// appended entries.
void update_head(db::Connection& connection, JournalHead& head) {
  const std::uint64_t state = std::exchange(head.writing_state, 0);
  if (state != 0 && state == connection.writing_state()) return;
  std::uint64_t size = 0;
  {
    db::Query last = connection.query(
        "SELECT sequence, hashes FROM journal"
        " WHERE sequence = (SELECT max(sequence) FROM journal)");
    if (last.step()) {
      size = static_cast<std::uint64_t>(last.number(0)) + 1;
      const std::string_view hash = short_hash(last.column(1).bytes);
      if (head.tree.size() == size && head.last_hash == hash) return;
      head.last_hash = hash;
    } else if (head.tree.size() == 0) {
      return;
    }
  }
  head.tree = journal::tree_of(size, hash_reader(connection));
}

// Returns the hashes in the row of an entry; nullopt if it is archived.
std::optional<std::string> hashes_in_row(db::Connection& connection, std::uint64_t sequence) {
  db::Query query = connection.query("SELECT hashes FROM journal WHERE sequence = ?");
  query.bind(1, static_cast<std::int64_t>(sequence));
  if (!query.step()) return std::nullopt;
  return std::string(query.column(0).bytes);
}

// Returns the hash of an entry; nullopt if it is archived.
std::optional<Hash> hash_of_entry(db::Connection& connection, std::uint64_t sequence) {
  static const std::string sql =
      "SELECT " + std::string(columns) + " FROM journal WHERE sequence = ?";
  db::Query query = connection.query(sql);
  query.bind(1, static_cast<std::int64_t>(sequence));
  if (!query.step()) return std::nullopt;
  return journal::leaf_hash(canonical_text(query, connection.symbols()));
}

// Returns the hash of a subtree of archived entries.
Hash read_archived_hash(db::Connection& connection, unsigned level, std::uint64_t index) {
  db::Query archive =
      connection.query("SELECT size, hashes FROM journal_archives ORDER BY size DESC LIMIT 1");
  const std::uint64_t end = (index + 1) << level;
  if (!archive.step()) throw broken_tree(end - 1);
  const auto size = static_cast<std::uint64_t>(archive.number(0));
  const std::string_view hashes = archive.column(1).bytes;
  // The tree consists of a subtree for each bit of the size that is set.
  const std::uint64_t larger = size >> level >> 1U;
  const std::size_t place = static_cast<std::size_t>(std::popcount(larger)) * hash_size;
  if ((size >> level & 1) == 0 || end != size >> level << level ||
      hashes.size() < place + hash_size) {
    throw broken_tree(end - 1);
  }
  Hash hash{};
  std::memcpy(hash.data(), hashes.data() + place, hash_size);
  return hash;
}

}  // namespace

std::uint64_t journal_size(db::Connection& connection) {
  db::Query last = connection.query("SELECT max(sequence) FROM journal");
  if (!last.step() || last.column(0).is_null()) return 0;
  return static_cast<std::uint64_t>(last.number(0)) + 1;
}

std::uint64_t archived_size(db::Connection& connection) {
  db::Query archive = connection.query("SELECT coalesce(max(size), 0) FROM journal_archives");
  archive.step();
  return static_cast<std::uint64_t>(archive.number(0));
}

std::optional<std::int64_t> archive_of(db::Connection& connection, std::uint64_t sequence) {
  db::Query archive =
      connection.query("SELECT entry FROM journal_archives WHERE size > ? ORDER BY size LIMIT 1");
  archive.bind(1, static_cast<std::int64_t>(sequence));
  return archive.step() ? std::optional(archive.number(0)) : std::nullopt;
}

std::int64_t entry_of_newest_archive(db::Connection& connection) {
  db::Query archive = connection.query("SELECT coalesce(max(entry), -1) FROM journal_archives");
  archive.step();
  return archive.number(0);
}

bool is_archive(std::string_view content) {
  return content.starts_with(R"({"archive":)");
}

// The names of members cannot occur within a text, whose quotes have escapes.
std::int64_t effects_of(std::string_view content) {
  const auto has = [&](std::string_view text) {
    return content.find(text) != std::string_view::npos;
  };
  if (!has(R"("before":{)")) return 0;
  std::int64_t effects = 0;
  if (content.starts_with(R"({"before")")) effects |= effect_removed;
  if (has(R"("payout_group_id":)") || has(R"("identity_id":)") || has(R"("addresses":)")) {
    effects |= effect_links;
  }
  if (has(R"("status":)") || has(R"("onchain_status":)")) effects |= effect_status;
  return effects;
}

std::string_view status_member(std::string_view table) {
  if (table == Claim::table) return "onchain_status";
  return table == Orchestration::table ? "status" : "";
}

std::optional<std::string> status_after(db::Connection& connection, std::string_view table,
                                        std::int64_t key, std::int64_t sequence) {
  db::Query next = connection.query(
      "SELECT content FROM journal INDEXED BY journal_of_statuses WHERE (effects & 4) <> 0"
      " AND resource = ? AND key = ? AND sequence > ? ORDER BY sequence LIMIT 1");
  next.bind(1, connection.symbols().find(table).value_or(0)).bind(2, key).bind(3, sequence);
  if (!next.step()) return std::nullopt;
  const json::RawMembers content = json::raw_members(require_text(next.column(0)));
  const auto before = content.find("before");
  if (before == content.end()) return std::nullopt;
  return json::plain_text(json::raw_members(before->second), status_member(table));
}

std::string read_record_hashes(db::Connection& connection, std::uint64_t sequence) {
  db::Query query = connection.query("SELECT record_hashes FROM journal WHERE sequence = ?");
  query.bind(1, static_cast<std::int64_t>(sequence));
  return query.step() ? std::string(query.column(0).bytes) : std::string();
}

journal::Hash read_hash(db::Connection& connection, unsigned level, std::uint64_t index) {
  const std::uint64_t sequence = ((index + 1) << level) - 1;
  if (level == 0) {
    const auto hash = hash_of_entry(connection, sequence);
    return hash ? *hash : read_archived_hash(connection, level, index);
  }
  const auto hashes = hashes_in_row(connection, sequence);
  if (!hashes) return read_archived_hash(connection, level, index);
  if (level < first_stored_level) {
    return journal::node_hash(read_hash(connection, level - 1, 2 * index),
                              read_hash(connection, level - 1, 2 * index + 1));
  }
  const std::size_t place = short_hash_size + (level - first_stored_level) * hash_size;
  if (hashes->size() < place + hash_size) throw broken_tree(sequence);
  Hash hash{};
  std::memcpy(hash.data(), hashes->data() + place, hash_size);
  return hash;
}

std::string stored_hashes(std::span<const journal::Hash> completed) {
  std::string hashes(short_hash(journal::bytes_of(completed.front())));
  if (completed.size() > first_stored_level) {
    hashes += bytes_of(completed.subspan(first_stored_level));
  }
  return hashes;
}

void append_entry(db::Connection& connection, JournalHead& head, const Origin& origin,
                  const NewEntry& entry) {
  connection.lock_journal();
  const std::lock_guard lock(head.mutex);
  update_head(connection, head);
  const std::uint64_t sequence = head.tree.size();
  const Hash leaf = journal::leaf_hash(canonical_text(origin, entry, sequence));
  const std::span<const Hash> hashes = head.tree.append(leaf);
  head.last_hash = short_hash(journal::bytes_of(leaf));
  BoundValues values(connection.symbols());
  const auto text = [](std::string_view value) {
    return value.empty() ? Value::null() : Value::of(value);
  };
  const auto symbol = [&](std::string_view value) {
    return value.empty() ? Value::null() : values.symbol(value);
  };
  const Value actor = symbol(origin.actor);
  const Value customer = symbol(entry.customer);
  const Value operation = symbol(origin.operation);
  const Value resource = symbol(entry.resource);
  static const std::string sql = "INSERT INTO journal (" + std::string(columns) +
                                 ", hashes, record_hashes) VALUES"
                                 " (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  connection.run(sql, static_cast<std::int64_t>(sequence), origin.recorded_at.microseconds, actor,
                 customer, operation, resource, nullable(entry.key),
                 entry.id.empty() ? Value::null() : values.identifier(entry.id),
                 std::string_view(entry.content),
                 origin.idempotency_key ? Value::blob(*origin.idempotency_key) : Value::null(),
                 origin.request_id ? text(*origin.request_id) : Value::null(),
                 effects_of(entry.content), Value::blob(stored_hashes(hashes)),
                 entry.record_hashes.empty() ? Value::null() : Value::blob(entry.record_hashes));
  head.writing_state = connection.writing_state();
}

void visit_entries(db::Connection& connection, const EntrySelection& selection,
                   const std::function<bool(const Entry&)>& visit) {
  db::Symbols& symbols = connection.symbols();
  const auto symbol = [&](std::string_view text) {
    return Value::of(symbols.find(text).value_or(0));
  };
  Sql sql;
  // Adds the entries that an index and a condition select.
  const auto add_arm = [&](std::string_view index, const Sql& condition) {
    sql.add(sql.text.empty() ? "SELECT " : " UNION ALL SELECT ").add(columns);
    sql.add(", hashes FROM journal ").add(index).add(" WHERE ").add(condition);
    sql.add(" AND sequence >= ?", Value::of(static_cast<std::int64_t>(selection.from)));
    sql.add(" AND sequence < ?", Value::of(static_cast<std::int64_t>(selection.end)));
    if (selection.resource)
      sql.add(" AND " + unindexed("resource") + " = ?", symbol(*selection.resource));
    if (selection.customer) sql.add(" AND customer_id = ?", symbol(*selection.customer));
  };
  if (selection.records) {
    for (const auto& [table, key] : *selection.records) {
      add_arm("INDEXED BY journal_by_record",
              Sql{"resource = ?", {symbol(table)}}.add(" AND key = ?", Value::of(key)));
    }
    if (sql.text.empty()) return;
  } else if (selection.only_batches) {
    add_arm("INDEXED BY journal_of_batches", {"key IS NULL", {}});
  } else if (selection.customer) {
    add_arm("INDEXED BY journal_of_customer", {"customer_id IS NOT NULL", {}});
  } else {
    add_arm("NOT INDEXED", {"TRUE", {}});
  }
  db::Query rows = sql.add(" ORDER BY 1").query_many(connection);
  while (rows.step()) {
    const auto sequence = static_cast<std::uint64_t>(rows.number(0));
    if (!visit({sequence, canonical_text(rows, symbols), require_text(rows.column(8)),
                rows.number(11), rows.column(12).bytes})) {
      return;
    }
  }
}

std::vector<BatchPart> batch_parts(std::string_view content) {
  std::vector<BatchPart> parts;
  if (!is_archive(content) && !content.starts_with(R"({"batch":)")) return parts;
  const json::RawMembers entry = json::raw_members(content);
  const json::RawMembers batch = json::raw_members(entry.begin()->second);
  const auto records = batch.find("records");
  if (records == batch.end()) return parts;
  for (const std::string& element : json::raw_elements(records->second)) {
    const json::RawMembers part = json::raw_members(element);
    parts.push_back({number_of(part, "count"), number_of(part, "first_key"),
                     number_of(part, "last_key"), json::plain_text(part, "resource"),
                     json::plain_text(part, "root")});
  }
  return parts;
}

}  // namespace comptroller::store
