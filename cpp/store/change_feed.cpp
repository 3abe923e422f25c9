#include "store/change_feed.hpp"

#include <algorithm>
#include <utility>

#include "json/canonical.hpp"
#include "store/client_lookups.hpp"
#include "store/columns.hpp"
#include "store/customer_keys.hpp"
#include "store/journal.hpp"
#include "store/page_rows.hpp"
#include "store/record_entries.hpp"
#include "store/row_texts.hpp"
#include "store/streams.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

// What an entry says of all its changes.
struct EntryHead {
  std::int64_t sequence = 0;
  Timestamp recorded_at;
  Label actor;
  Label operation;
};

struct Batch {
  std::int64_t sequence = INT64_MAX;
  std::vector<BatchPart> parts = {};
  std::string keys = {};  // of the records of the customer whose feed it is
  bool is_archive = false;
};

// Removes the members that clients do not see from the JSON of a record or of some of its members.
template <Record R>
void remove_hidden(std::string& object) {
  for_each_field<R>([&]<class F>() {
    if constexpr (!is_shown<bare<typename F::Type>>(Audience::client)) {
      json::RawMembers members = json::raw_members(object);
      members.erase(std::string(F::name));
      object = json::to_object(members);
    }
  });
}

class FeedReader {
 public:
  FeedReader(db::Connection& connection, const FeedQuery& query)
      : connection_(connection), query_(query) {
    page_.end = query.after;
  }

  FeedPage read() && {
    const std::int64_t first = first_entry();
    // After a statement of the snapshot, whose rows then have no symbol that is not found.
    if (const auto& customer = query_.customer) {
      customer_ = require_integer(key_of_customer(connection_, *customer));
    }
    db::Query rows = entries(first).query_many(connection_);
    while (rows.step()) {
      page_.has_more = is_full() || !add_entry(rows);
      if (page_.has_more) break;
      page_.end = {.sequence = rows.number(0)};
    }
    // The journal may go on with entries of others.
    if (!page_.has_more) {
      page_.end = {.sequence = static_cast<std::int64_t>(journal_size(connection_)) - 1};
    }
    return std::move(page_);
  }

 private:
  // Returns the first entry to read.
  std::int64_t first_entry() {
    require_stored(connection_, query_.after);
    const std::int64_t next = query_.after.next_entry();
    if (std::cmp_greater_equal(next, archived_size(connection_))) return next;
    expanded_archive_ = entry_of_newest_archive(connection_);
    return expanded_archive_;
  }

  bool is_full() const {
    return page_.changes.size() >= query_.limit || visited_ >= max_rows_visited ||
           query_.bytes.is_full(bytes_);
  }

  template <Record R>
  bool selects() const {
    if constexpr (!requires(R record) { record.customer_id; }) {
      if (customer_) return false;
    }
    return std::ranges::find(query_.resources, resource_of<R>()) != query_.resources.end();
  }
  template <Record R>
  static constexpr ChangedResource resource_of() {
    constexpr auto found = find_enum<ChangedResource>(R::table);
    static_assert(found.has_value(), "each table is a row of ChangedResource");
    return found.value_or(ChangedResource{});
  }

  // All entries; or those of the customer's records, and those of batches with its records, which
  // have a further column with their keys.
  Sql entries(std::int64_t from) const {
    Sql sql{
        "SELECT sequence, recorded_at, actor, customer_id, operation, resource, key, id, content",
        {}};
    if (!customer_) return sql.add(" FROM journal WHERE sequence >= ? ORDER BY 1", Value::of(from));
    sql.add(
        ", CAST(NULL AS bytea) FROM journal INDEXED BY journal_of_customer WHERE customer_id = ?",
        Value::of(*customer_));
    sql.add(" AND sequence >= ?", Value::of(from));
    Sql of_batches{
        "SELECT j.sequence, recorded_at, actor, CAST(NULL AS integer), operation,"
        " CAST(NULL AS integer), CAST(NULL AS bigint), CAST(NULL AS bytea), content, keys"
        " FROM journal_batch_keys AS b CROSS JOIN journal AS j"
        " WHERE j.sequence = b.sequence AND b.customer_id = ?",
        {Value::of(*customer_)}};
    of_batches.add(" AND b.sequence >= ?", Value::of(from));
    if (connection_.dialect().has_ordered_branches) {
      sql = in_order(sql, "sequence");
      of_batches = in_order(of_batches, "b.sequence");
    }
    return sql.add(" UNION ALL ").add(of_batches).add(" ORDER BY 1");
  }
  static Sql in_order(const Sql& select, std::string_view column) {
    Sql sql{"SELECT * FROM (", {}};
    return sql.add(select).add(" ORDER BY ").add(column).add(") AS branch");
  }

  // Adds the changes of an entry. Returns false if it has further ones.
  bool add_entry(db::Query& row) {
    ++visited_;
    const auto symbol = [&](int index) {
      return std::string(connection_.symbols().text(row.number(index)));
    };
    const EntryHead head{row.number(0), require_time(row.number(1)), {symbol(2)}, {symbol(4)}};
    if (row.column(6).is_null()) {
      const std::string_view content = require_text(row.column(8));
      // The records of an archive are no changes, unless the feed begins with them.
      const bool is_begun = head.sequence == query_.after.sequence;
      if (is_archive(content) && !is_begun && head.sequence != expanded_archive_) return true;
      const std::string keys(customer_ ? row.column(9).bytes : std::string_view());
      return add_batch(head, {head.sequence, batch_parts(content), keys, is_archive(content)});
    }
    const std::string table = symbol(5);
    if (!find_enum<ChangedResource>(table)) return true;  // a webhook
    visit_table(table, [&]<class R>() {
      if (!selects<R>() || is_in_batch(head.sequence, table, row.number(6))) return;
      Change change;
      Column<Id>::read(row.column(7), connection_.symbols(),
                       [&](const auto& view) { assign(change.id, view); });
      if (!row.column(3).is_null()) change.customer_id.emplace().value = symbol(3);
      json::RawMembers content = json::raw_members(require_text(row.column(8)));
      if (content.contains("before")) change.before = {{std::move(content["before"])}};
      if (content.contains("after")) change.after = {{std::move(content["after"])}};
      add<R>(head, {.sequence = head.sequence}, std::move(change));
    });
    return true;
  }

  // Whether a batch of the same transaction has the record. Its entry is the next one of a batch,
  // because the other changes of the transaction precede it.
  bool is_in_batch(std::int64_t sequence, std::string_view table, std::int64_t key) {
    if (!next_batch_ || next_batch_->sequence <= sequence) next_batch_ = batch_after(sequence);
    for (std::size_t index = 0; index < next_batch_->parts.size(); ++index) {
      const BatchPart& part = next_batch_->parts[index];
      if (part.resource != table || std::cmp_greater(part.first_key, key) ||
          std::cmp_less(part.last_key, key)) {
        continue;
      }
      if (customer_) {
        return KeyReader(keys_of_part(next_batch_->keys, index)).first_from(key) == key;
      }
      RecordEntries entries(
          connection_, {.table = table, .first_key = key, .last_key = key, .is_first_only = true});
      return !is_inserted_alone(entries.take(), static_cast<std::uint64_t>(next_batch_->sequence));
    }
    return false;
  }

  // Returns the next batch that is no archive; of a customer's feed, the next one with its records.
  Batch batch_after(std::int64_t sequence) {
    Sql sql;
    if (customer_) {
      sql.add(
          "SELECT j.sequence, content, keys FROM journal_batch_keys AS b CROSS JOIN journal AS j"
          " WHERE j.sequence = b.sequence AND b.customer_id = ?",
          Value::of(*customer_));
      sql.add(" AND b.sequence > ?", Value::of(sequence));
    } else {
      sql.add(
          "SELECT sequence, content FROM journal INDEXED BY journal_of_batches"
          " WHERE key IS NULL AND sequence > ?",
          Value::of(sequence));
    }
    sql.add(" AND substr(content, 1, 11) <> '{\"archive\":' ORDER BY 1 LIMIT 1");
    db::Query next = sql.query(connection_);
    if (!next.step()) return {};
    return {next.number(0), batch_parts(require_text(next.column(1))),
            std::string(customer_ ? next.column(2).bytes : std::string_view())};
  }

  // Adds records of a batch, after those of an earlier page. The tables are in an order in which
  // their records can be loaded.
  bool add_batch(const EntryHead& head, const Batch& batch) {
    const std::vector<BatchPart>& parts = batch.parts;
    const FeedPosition& after = query_.after;
    bool is_resumed = head.sequence == after.sequence;
    bool is_complete = true;
    for_each_table([&]<class R>() {
      for (std::size_t index = 0; index < parts.size() && is_complete; ++index) {
        const BatchPart& part = parts[index];
        if (part.resource != R::table) continue;
        auto first = static_cast<std::int64_t>(part.first_key);
        if (is_resumed) {
          if (std::cmp_not_equal(after.part, index)) continue;
          first = after.key + 1;
          is_resumed = false;
        }
        if (!selects<R>()) continue;
        const FeedPosition before{head.sequence, static_cast<std::int64_t>(index), first - 1};
        is_complete = customer_ ? add_own_records<R>(head, before, keys_of_part(batch.keys, index))
                                : add_records<R>(head, before, part, batch.is_archive);
      }
    });
    return is_complete;
  }

  // Adds the records of a part of a batch after a place. Records that other writes inserted
  // meanwhile may be between them.
  template <Record R>
  bool add_records(const EntryHead& head, FeedPosition at, const BatchPart& part, bool has_all) {
    const auto last = static_cast<std::int64_t>(part.last_key);
    const auto sequence = static_cast<std::uint64_t>(head.sequence);
    const std::int64_t end = std::min(last, at.key + max_rows_visited - visited_);
    RecordEntries all(connection_, {R::table, at.key + 1, end});
    db::Query rows = records<R>(at.key + 1, end);
    constexpr int key_column = static_cast<int>(field_count<R>);
    std::int64_t row_key = rows.step() ? rows.number(key_column) : INT64_MAX;
    while (true) {
      const std::int64_t key = std::min(row_key, all.key().value_or(INT64_MAX));
      if (key == INT64_MAX) break;
      if (is_full()) return false;
      visited_ += key - at.key;
      at.key = key;
      const bool is_present = key == row_key;  // or else it was removed later
      std::vector<RecordEntry> entries;
      if (key == all.key()) entries = all.take();
      if (has_all || !is_inserted_alone(entries, sequence)) {
        std::erase_if(entries, [&](const auto& entry) { return entry.sequence <= sequence; });
        if (is_present || !entries.empty()) {
          add_record<R>(head, at, is_present ? &rows : nullptr, entries);
        }
      }
      if (is_present) row_key = rows.step() ? rows.number(key_column) : INT64_MAX;
    }
    visited_ += end - at.key;
    page_.end = {at.sequence, at.part, end};
    return end == last;
  }

  // Does the same for the records with these keys. Each takes the same work, wherever it lies
  // between the records of others.
  template <Record R>
  bool add_own_records(const EntryHead& head, FeedPosition at, std::string_view encoded) {
    KeyReader keys(encoded);
    std::size_t expected = 0;
    for (auto key = keys.first_from(at.key + 1); key; key = keys.first_from(*key + 1)) {
      if (expected == 0) expected = expect_records<R>(keys, *key, at.sequence);
      if (expected > 0) --expected;
      if (is_full()) return false;
      ++visited_;
      at.key = *key;
      RecordEntries later(connection_, {R::table, *key, *key, head.sequence});
      std::vector<RecordEntry> entries;
      if (later.key()) entries = later.take();
      db::Query rows = records<R>(*key, *key);
      const bool is_present = rows.step();
      if (is_present || !entries.empty()) {
        add_record<R>(head, at, is_present ? &rows : nullptr, entries);
      }
      page_.end = at;
    }
    return true;
  }

  // Announces what add_own_records reads for some records from a key on; returns how many.
  template <Record R>
  std::size_t expect_records(KeyReader reader, std::int64_t first, std::int64_t sequence) {
    constexpr std::size_t most = 64;
    if (!connection_.dialect().is_remote) return 0;
    std::vector<std::int64_t> keys;
    for (auto key = reader.first_from(first);
         key && keys.size() < std::min(most, query_.limit - page_.changes.size());
         key = reader.first_from(*key + 1)) {
      keys.push_back(*key);
    }
    expect_entries(connection_, R::table, keys, sequence);
    connection_.read_ahead(select_records<R>({}, {}).text, keys.size(), [&](std::size_t run) {
      return select_records<R>(keys[run], keys[run]).values;
    });
    return keys.size();
  }

  // Adds a record of a batch as its transaction left it: that of the current row, or one that was
  // removed, before its later entries.
  template <Record R>
  void add_record(const EntryHead& head, const FeedPosition& at, db::Query* row,
                  const std::vector<RecordEntry>& entries) {
    Change change = row != nullptr ? present<R>(*row) : removed(entries.back());
    if (!entries.empty()) {
      std::optional<json::RawMembers> state;
      if (change.after) state = json::raw_members(change.after->text);
      state = unwind(std::move(state), entries);
      change.after.reset();
      if (state) change.after = {{json::to_object(*state)}};
    }
    if (change.after) add<R>(head, at, std::move(change));
  }

  // The record of the current row, as created.
  template <Record R>
  Change present(db::Query& query) {
    const Row row{query, connection_.symbols()};
    Change change;
    change.id.value = id_in<R>(row);
    std::string customer = customer_in<R>(row);
    if (!customer.empty()) change.customer_id.emplace().value = std::move(customer);
    json::append_canonical<R>(change.after.emplace().text, row);
    return change;
  }

  // A record that an entry removed, as created; lacks its members.
  Change removed(const RecordEntry& entry) {
    Change change;
    change.id.value = entry.id;
    if (entry.customer != 0) {
      change.customer_id.emplace().value = connection_.symbols().text(entry.customer);
    }
    return change;
  }

  template <Record R>
  void add(const EntryHead& head, const FeedPosition& position, Change change) {
    change.sequence.emplace().value = head.sequence;
    change.recorded_at = head.recorded_at;
    change.actor = head.actor;
    change.operation = head.operation;
    change.resource = resource_of<R>();
    if (query_.audience == Audience::client) {
      if (change.before) remove_hidden<R>(change.before->text);
      if (change.after) remove_hidden<R>(change.after->text);
    }
    for (const auto* state : {&change.before, &change.after}) {
      if (*state) bytes_ += (*state)->text.size();
    }
    page_.end = position;
    page_.changes.push_back({position, std::move(change)});
  }

  template <Record R>
  db::Query records(std::int64_t first, std::int64_t last) const {
    return select_records<R>(first, last).query(connection_);
  }
  template <Record R>
  static Sql select_records(std::int64_t first, std::int64_t last) {
    static const std::string select =
        "SELECT " + select_list<R>() + ", key FROM " + std::string(R::table);
    Sql sql{select, {}};
    sql.add(" WHERE key >= ?", Value::of(first)).add(" AND key <= ?", Value::of(last));
    return sql.add(" ORDER BY key");
  }

  db::Connection& connection_;
  const FeedQuery& query_;
  std::optional<std::int64_t> customer_;
  std::optional<Batch> next_batch_;
  std::int64_t expanded_archive_ =
      -1;  // the entry of an archive with whose records the feed begins
  std::int64_t visited_ = 0;
  std::size_t bytes_ = 0;  // of the states of records
  FeedPage page_;
};

}  // namespace

void require_stored(db::Connection& connection, const FeedPosition& after) {
  if (after.sequence < 0) return;
  if (std::cmp_greater_equal(after.next_entry(), archived_size(connection))) return;
  throw Error::field(Code::invalid_cursor, "after",
                     "is before changes that were moved to an archive; send the request without a "
                     "cursor");
}

FeedPage read_feed(db::Connection& connection, const FeedQuery& query) {
  return FeedReader(connection, query).read();
}

}  // namespace comptroller::store
