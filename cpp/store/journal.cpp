#include "store/journal.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
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

// The columns of an entry after its sequence, in the order of the functions below.
constexpr std::string_view columns =
    "recorded_at, actor, customer_id, operation, resource, key, id, content, idempotency_key,"
    " request_id";
constexpr std::size_t column_count = 11;

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

// The canonical JSON of a stored entry. The first column of the row is not read.
std::string canonical_text(auto& row, std::uint64_t sequence, db::Symbols& symbols) {
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
  writer.write("sequence", sequence);
  writer.close();
  return text;
}

// A pending entry, whose first column is its place.
class PendingEntry {
 public:
  explicit PendingEntry(db::Query& row) {
    std::size_t size = 0;
    for (std::size_t index = 0; index < column_count; ++index) {
      values_[index] = row.column(static_cast<int>(index));
      size += values_[index].bytes.size();
    }
    bytes_ = std::make_unique<char[]>(size);
    char* end = bytes_.get();
    for (Value& value : values_) {
      const std::string_view bytes = value.bytes;
      value.bytes = {end, bytes.size()};
      end += bytes.copy(end, bytes.size());
    }
  }

  const Value& column(int index) const { return values_.at(static_cast<std::size_t>(index)); }
  std::int64_t number(int index) const { return column(index).integer; }

 private:
  std::array<Value, column_count> values_;
  std::unique_ptr<char[]> bytes_;
};

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

// Brings the cached tree to the state of the connection's transaction. If this is not the state
// after the last append, the hash of the last entry shows whether a write was undone, or another
// process has appended entries.
void update_tree(db::Connection& connection, JournalTreeCache& cache) {
  const std::uint64_t state = std::exchange(cache.writing_state, 0);
  if (state != 0 && state == connection.writing_state()) return;
  std::uint64_t size = 0;
  {
    db::Query last = connection.query(
        "SELECT sequence, hashes FROM journal"
        " WHERE sequence = (SELECT max(sequence) FROM journal)");
    if (last.step()) {
      size = static_cast<std::uint64_t>(last.number(0)) + 1;
      const std::string_view hash = short_hash(last.column(1).bytes);
      if (cache.tree.size() == size && cache.last_hash == hash) return;
      cache.last_hash = hash;
    } else if (cache.tree.size() == 0) {
      return;
    }
  }
  cache.tree = journal::tree_of(size, hash_reader(connection));
}

const std::string& insertion_of_entry() {
  static const std::string sql = "INSERT INTO journal (sequence, " + std::string(columns) +
                                 ", effects, hashes, record_hashes)"
                                 " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
  return sql;
}

// Binds the columns of an entry from the parameter `first` on.
void bind_entry(db::Query& insert, int first, const Origin& origin, const NewEntry& entry,
                BoundValues& values) {
  const auto symbol = [&](std::string_view value) {
    return value.empty() ? Value::null() : values.symbol(value);
  };
  const std::array bound{
      Value::of(origin.recorded_at.microseconds),
      symbol(origin.actor),
      symbol(entry.customer),
      symbol(origin.operation),
      symbol(entry.resource),
      nullable(entry.key),
      entry.id.empty() ? Value::null() : values.identifier(entry.id),
      Value::of(std::string_view(entry.content)),
      origin.idempotency_key ? Value::blob(*origin.idempotency_key) : Value::null(),
      origin.request_id && !origin.request_id->empty()
          ? Value::of(std::string_view(*origin.request_id))
          : Value::null()};
  for (const Value& value : bound) insert.bind(first++, value);
}

// Gives the first pending entries their sequence numbers; returns how many.
std::size_t sequence_batch(db::Connection& connection, JournalTreeCache& cache) {
  static const std::string take =
      "DELETE FROM journal_pending WHERE place IN"
      " (SELECT place FROM journal_pending ORDER BY place LIMIT ?) RETURNING place, " +
      std::string(columns);
  std::vector<PendingEntry> entries;
  {
    db::Query taken = connection.query(take);
    taken.bind(1, static_cast<std::int64_t>(max_sequenced));
    while (taken.step()) entries.emplace_back(taken);
  }
  if (entries.empty()) return 0;
  std::ranges::sort(entries, {}, [](const PendingEntry& entry) { return entry.number(0); });
  const std::lock_guard lock(cache.mutex);
  update_tree(connection, cache);
  db::Query insert = connection.query(insertion_of_entry());
  for (PendingEntry& entry : entries) {
    const std::uint64_t sequence = cache.tree.size();
    const Hash leaf = journal::leaf_hash(canonical_text(entry, sequence, connection.symbols()));
    const std::string hashes = stored_hashes(cache.tree.append(leaf));
    cache.last_hash = short_hash(journal::bytes_of(leaf));
    insert.bind(1, static_cast<std::int64_t>(sequence));
    for (int index = 1; std::cmp_less(index, column_count); ++index) {
      insert.bind(index + 1, entry.column(index));
    }
    insert.bind(12, effects_of(require_text(entry.column(8)))).bind(13, Value::blob(hashes));
    insert.bind(14, Value::null()).run_later();
  }
  return entries.size();
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
      "SELECT sequence, " + std::string(columns) + " FROM journal WHERE sequence = ?";
  db::Query query = connection.query(sql);
  query.bind(1, static_cast<std::int64_t>(sequence));
  if (!query.step()) return std::nullopt;
  return journal::leaf_hash(canonical_text(query, sequence, connection.symbols()));
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
  const std::int64_t resource = connection.symbols().find(table).value_or(0);
  const auto status_before = [&](std::string_view content) -> std::optional<std::string> {
    const json::RawMembers members = json::raw_members(content);
    const auto before = members.find("before");
    if (before == members.end()) return std::nullopt;
    return json::plain_text(json::raw_members(before->second), status_member(table));
  };
  db::Query next = connection.query(
      "SELECT content FROM journal INDEXED BY journal_of_statuses WHERE (effects & 4) <> 0"
      " AND resource = ? AND key = ? AND sequence > ? ORDER BY sequence LIMIT 1");
  next.bind(1, resource).bind(2, key).bind(3, sequence);
  if (next.step()) return status_before(require_text(next.column(0)));
  if (!connection.dialect().has_pending_entries) return std::nullopt;
  db::Query pending = connection.query(
      "SELECT content FROM journal_pending WHERE resource = ? AND key = ? ORDER BY place");
  pending.bind(1, resource).bind(2, key);
  while (pending.step()) {
    const std::string_view content = require_text(pending.column(0));
    if ((effects_of(content) & effect_status) != 0) return status_before(content);
  }
  return std::nullopt;
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

void append_entry(db::Connection& connection, JournalTreeCache& cache, const Origin& origin,
                  const NewEntry& entry) {
  BoundValues values(connection.symbols());
  if (connection.sequences_later() && entry.key) {
    static const std::string sql = "INSERT INTO journal_pending (" + std::string(columns) +
                                   ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
    db::Query insert = connection.query(sql);
    bind_entry(insert, 1, origin, entry, values);
    insert.run_later();
    return;
  }
  lock_journal(connection, cache);
  const std::lock_guard lock(cache.mutex);
  update_tree(connection, cache);
  const std::uint64_t sequence = cache.tree.size();
  const Hash leaf = journal::leaf_hash(canonical_text(origin, entry, sequence));
  const std::string hashes = stored_hashes(cache.tree.append(leaf));
  cache.last_hash = short_hash(journal::bytes_of(leaf));
  db::Query insert = connection.query(insertion_of_entry());
  insert.bind(1, static_cast<std::int64_t>(sequence));
  bind_entry(insert, 2, origin, entry, values);
  insert.bind(12, effects_of(entry.content)).bind(13, Value::blob(hashes));
  insert.bind(14, entry.record_hashes.empty() ? Value::null() : Value::blob(entry.record_hashes));
  insert.run();
  cache.writing_state = connection.writing_state();
}

void lock_journal(db::Connection& connection, JournalTreeCache& cache) {
  if (connection.lock_journal(true) != db::JournalLock::taken) return;
  while (sequence_batch(connection, cache) == max_sequenced) {
  }
}

bool has_pending_entries(db::Connection& connection) {
  return connection.query("SELECT place FROM journal_pending ORDER BY place LIMIT 1").step();
}

std::optional<std::size_t> sequence_entries(db::Connection& connection, JournalTreeCache& cache,
                                            bool waits) {
  if (connection.lock_journal(waits) == db::JournalLock::busy) return std::nullopt;
  return sequence_batch(connection, cache);
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
    sql.add(sql.text.empty() ? "SELECT " : " UNION ALL SELECT ").add("sequence, ");
    sql.add(columns)
        .add(", effects, hashes FROM journal ")
        .add(index)
        .add(" WHERE ")
        .add(condition);
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
    if (!visit({sequence, canonical_text(rows, sequence, symbols), require_text(rows.column(8)),
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
