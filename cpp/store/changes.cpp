#include "store/changes.hpp"

#include "model/hexadecimal.hpp"
#include "store/journal.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

std::int64_t Changes::last_key(std::string_view table) {
  db::Query query = connection().query("SELECT max(key) FROM " + std::string(table));
  return query.step() ? query.column(0).integer : 0;
}

void Changes::lock_journal() {
  store::lock_journal(connection(), tree_);
}

void Changes::begin_part(std::string_view table) {
  batch_[table].next_key = last_key(table) + 1;
}

void Changes::add_to_batch(std::string_view table, const journal::Hash& leaf,
                           std::string_view customer) {
  Part& part = batch_[table];
  if (part.tree.size() == 0) part.first_key = part.next_key;
  part.keys.add(customer, part.next_key++);
  part.tree.append(leaf);
  part.record_hashes += journal::bytes_of(leaf).substr(0, record_hash_size);
}

void Changes::finish_batch(Batch about) {
  if (!is_batch_) return;
  NewEntry entry;
  BatchKeys keys;
  // In the order of the change feed, so that positions in it ascend.
  for_each_table([&]<class R>() {
    const auto found = batch_.find(R::table);
    if (found == batch_.end() || found->second.tree.size() == 0) return;
    const Part& part = found->second;
    keys.add(about.records.size(), part.keys);
    const journal::Hash root = part.tree.root();
    about.records.push_back({part.tree.size(), static_cast<std::uint64_t>(part.first_key),
                             static_cast<std::uint64_t>(part.next_key - 1), std::string(R::table),
                             text_of(HexadecimalDigits{journal::bytes_of(root)})});
    entry.record_hashes += part.record_hashes;
  });
  is_batch_ = false;
  batch_.clear();
  if (about.records.empty() && !has_appended_ && journal_size(connection()) > 0) return;
  content_ = R"({"batch":)";
  json::append_canonical<Batch>(content_, RecordFields<Batch>{about});
  entry.content = content_ + '}';
  append(entry);
  keys.save(connection(), journal_size(connection()) - 1);
}

void Changes::append(const NewEntry& entry) {
  append_entry(connection(), tree_, origin_, entry);
  has_appended_ = true;
}

}  // namespace comptroller::store
