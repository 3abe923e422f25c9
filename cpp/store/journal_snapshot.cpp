#include "store/journal_snapshot.hpp"

#include "model/hexadecimal.hpp"
#include "model/records/journal.hpp"
#include "model/records/webhooks.hpp"
#include "store/change_feed.hpp"
#include "store/changes.hpp"
#include "store/columns.hpp"
#include "store/journal.hpp"
#include "store/journal_check.hpp"
#include "store/records.hpp"
#include "store/row_texts.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

constexpr std::uint64_t records_per_call = 4'096;

// Returns the id of a webhook whose next change is an entry before the first `size`.
std::optional<std::string> webhook_before(db::Connection& connection, std::uint64_t size) {
  const auto webhook = find_where<Webhook>(
      connection,
      {"after_sequence + CASE after_part WHEN ? THEN 1 ELSE 0 END < ? LIMIT 1",
       {Value::of(FeedPosition::whole_entry), Value::of(static_cast<std::int64_t>(size))}});
  return webhook ? std::optional(webhook->record.id.value) : std::nullopt;
}

std::string digits_of(const journal::Hash& hash) {
  return text_of(HexadecimalDigits{journal::bytes_of(hash)});
}

bool is_empty(db::Connection& connection, std::string_view table) {
  db::Query last = connection.query("SELECT max(key) FROM " + std::string(table));
  return !last.step() || last.column(0).is_null();
}

// All records.
struct RecordDigest {
  std::vector<BatchPart> parts = {};
  std::string record_hashes = {};
  BatchKeys keys = {};
};

RecordDigest digest_of_records(db::Connection& connection, const RecordProgress& progress) {
  RecordDigest digest;
  std::uint64_t count = 0;
  std::string content;
  const auto add = [&]<class R>() {
    if (is_empty(connection, R::table)) return;
    db::Query rows = connection.query_many("SELECT " + select_list<R>() + ", key FROM " +
                                           std::string(R::table) + " ORDER BY key");
    journal::Tree tree;
    CustomerKeys keys;
    BatchPart part;
    part.resource = R::table;
    while (rows.step()) {
      part.last_key = static_cast<std::uint64_t>(rows.number(static_cast<int>(field_count<R>)));
      if (tree.size() == 0) part.first_key = part.last_key;
      content.clear();
      const Row row{rows, connection.symbols()};
      json::append_canonical<R>(content, row);
      keys.add(customer_in<R>(row), static_cast<std::int64_t>(part.last_key));
      const journal::Hash hash = journal::leaf_hash(content);
      tree.append(hash);
      digest.record_hashes += journal::bytes_of(hash).substr(0, record_hash_size);
      if (++count % records_per_call == 0 && progress) progress(count);
    }
    part.count = tree.size();
    part.root = digits_of(tree.root());
    digest.keys.add(digest.parts.size(), keys);
    digest.parts.push_back(std::move(part));
  };
  for_each_table(add);
  add.template operator()<Webhook>();
  if (progress) progress(count);
  return digest;
}

// Appends the entry of all records, with a content of one member.
template <Record R>
void append(db::Connection& connection, JournalTreeCache& cache, const Origin& origin,
            std::string_view member, const R& value, RecordDigest digest) {
  NewEntry entry;
  entry.content.append("{\"").append(member).append("\":");
  json::append_canonical<R>(entry.content, RecordFields<R>{value});
  entry.content += '}';
  entry.record_hashes = std::move(digest.record_hashes);
  append_entry(connection, cache, origin, entry);
  digest.keys.save(connection, journal_size(connection) - 1);
}

}  // namespace

void begin_journal(db::Connection& connection, Timestamp now, const RecordProgress& progress) {
  if (journal_size(connection) > 0) return;
  RecordDigest digest = digest_of_records(connection, progress);
  Batch batch;
  batch.records = std::move(digest.parts);
  JournalTreeCache cache;
  append(connection, cache, {now, "comptroller", "journal.begin"}, "batch", batch,
         std::move(digest));
}

void archive_entries(db::Connection& connection, const Origin& origin, const ArchiveFile& file) {
  JournalTreeCache cache;
  lock_journal(connection, cache);
  const std::uint64_t size = journal_size(connection);
  if (file.size <= archived_size(connection) || file.size > size) {
    throw Error::invalid("archive", "these entries are archived already, or not of this journal");
  }
  const journal::ReadHash read = hash_reader(connection);
  if (file.root != digits_of(journal::tree_of(file.size, read).root())) {
    throw Error::invalid("archive", "the file does not have the entries of this journal");
  }
  if (const auto webhook = webhook_before(connection, file.size)) {
    throw Error(Code::unusable, "webhook " + *webhook +
                                    " has not had the events of these entries, so no entry was "
                                    "archived; let it get them, or delete it");
  }
  if (!check_journal(connection).findings.empty()) {
    throw Error(Code::unusable,
                "an entry or a record was altered, so no entry was archived; `comptroller journal "
                "verify` names it");
  }
  std::string hashes;
  for (unsigned level = 64; level-- > 0;) {
    if ((file.size >> level & 1) == 0) continue;
    hashes += journal::bytes_of(read(level, (file.size >> level) - 1));
  }
  RecordDigest digest = digest_of_records(connection, {});
  const Archive archive{file.size, file.sha256, std::move(digest.parts), file.root};
  append(connection, cache, origin, "archive", archive, std::move(digest));
  connection.run("INSERT INTO journal_archives (size, entry, hashes) VALUES (?, ?, ?)",
                 static_cast<std::int64_t>(file.size), static_cast<std::int64_t>(size),
                 Value::blob(hashes));
  connection.run("DELETE FROM journal WHERE sequence < ?", static_cast<std::int64_t>(file.size));
  connection.run("DELETE FROM journal_batch_keys WHERE sequence < ?",
                 static_cast<std::int64_t>(file.size));
}

}  // namespace comptroller::store
