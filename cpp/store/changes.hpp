// A write transaction. Whoever changes a record of the store does it through this object, which
// records the change in the journal.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "db/database.hpp"
#include "journal/hash.hpp"
#include "json/canonical.hpp"
#include "model/records/journal.hpp"
#include "store/customer_keys.hpp"
#include "store/journal.hpp"

namespace comptroller::store {

// A record and its key. Keys ascend in order of insertion, and are never used again.
template <Record R>
struct Stored {
  std::int64_t key = 0;
  R record;
};

// The id by which people name a record; of a balance, that of its address.
template <Record R>
std::string_view id_of(const R& record) {
  if constexpr (requires { record.id; }) {
    return record.id.value;
  } else {
    return record.address_id.value;
  }
}

// The hash of a record's canonical JSON, as a leaf of a tree.
template <Record R>
journal::Hash content_hash(const R& record) {
  thread_local std::string content;
  content.clear();
  json::append_canonical<R>(content, RecordFields<R>{record});
  return journal::leaf_hash(content);
}

class Changes {
 public:
  // `tree` may keep what the last write of this process knew of the journal.
  Changes(db::Connection& connection, Origin origin, JournalTreeCache& tree)
      : connection_(connection), origin_(std::move(origin)), tree_(tree) {}

  db::Connection& connection() const { return connection_; }
  // Continues on another connection, which has got the inserted rows (db::Fill).
  void move_to(db::Connection& connection) { connection_ = connection; }
  // Whether entries were appended, which another connection has not got.
  bool has_appended() const { return has_appended_; }

  // See store::lock_journal.
  void lock_journal();

  // From now on, inserted records are not entries of their own, but part of one batch.
  void begin_batch() { is_batch_ = true; }
  bool is_batch() const { return is_batch_; }
  // Appends the entry of the batch; `about` lacks its records.
  void finish_batch(Batch about);

  // Returns the last key of a table; 0 if it is empty.
  std::int64_t last_key(std::string_view table);

  // Called before records of a table are inserted.
  template <Record R>
  void before_insert() {
    if (is_batch_ && !batch_.contains(R::table)) begin_part(R::table);
  }
  // Called before a record is removed, so that its key is not among those of the batch, although it
  // may be the last.
  template <Record R>
  void before_removal() {
    before_insert<R>();
  }
  template <Record R>
  void inserted(std::int64_t key, const R& record) {
    if (is_batch_) return inserted_in_batch(record, nullptr, key);
    content_.clear();
    json::append_canonical<R>(content_, RecordFields<R>{record});
    append(R::table, key, record, R"({"after":)" + content_ + '}');
  }
  // Adds an inserted record to the batch, with a key or the next one. `content` is its
  // content_hash, or null.
  template <Record R>
  void inserted_in_batch(const R& record, const journal::Hash* content,
                         std::optional<std::int64_t> key = std::nullopt) {
    if (key) batch_[R::table].next_key = *key;
    add_to_batch(R::table, content != nullptr ? *content : content_hash(record),
                 customer_or_none(record));
  }
  template <Record R>
  void changed(std::int64_t key, const R& before, const R& after) {
    const json::Difference difference = json::difference(before, after);
    if (difference.is_empty()) return;
    append(R::table, key, after,
           R"({"after":)" + difference.after + R"(,"before":)" + difference.before + '}');
  }
  template <Record R>
  void deleted(std::int64_t key, const R& record) {
    content_.clear();
    json::append_canonical<R>(content_, RecordFields<R>{record});
    append(R::table, key, record, R"({"before":)" + content_ + '}');
  }

 private:
  struct Part {
    std::int64_t first_key = 0;
    std::int64_t next_key = 0;
    journal::Tree tree = {};
    std::string record_hashes = {};
    CustomerKeys keys = {};
  };

  // A balance has no customer.
  template <Record R>
  static std::string_view customer_or_none(const R& record) {
    if constexpr (requires { record.customer_id; }) return customer_of(record);
    return {};
  }

  void begin_part(std::string_view table);
  void add_to_batch(std::string_view table, const journal::Hash& leaf, std::string_view customer);

  template <Record R>
  void append(std::string_view table, std::int64_t key, const R& record, std::string content) {
    append({table, key, id_of(record), customer_or_none(record), std::move(content)});
  }
  void append(const NewEntry& entry);

  std::reference_wrapper<db::Connection> connection_;
  Origin origin_;
  std::reference_wrapper<JournalTreeCache> tree_;
  bool is_batch_ = false;
  std::map<std::string_view, Part> batch_;  // by table
  bool has_appended_ = false;
  std::string content_;
};

}  // namespace comptroller::store
