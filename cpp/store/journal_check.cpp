#include "store/journal_check.hpp"

#include <algorithm>
#include <optional>
#include <ranges>
#include <set>

#include "journal/tree.hpp"
#include "json/canonical.hpp"
#include "json/raw_members.hpp"
#include "model/hexadecimal.hpp"
#include "model/records/webhooks.hpp"
#include "store/changes.hpp"
#include "store/columns.hpp"
#include "store/journal.hpp"
#include "store/journal_records.hpp"
#include "store/record_entries.hpp"
#include "store/row_texts.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

using journal::Hash;

constexpr std::size_t max_findings = 100;  // of one kind

class Findings {
 public:
  explicit Findings(std::vector<Finding>& all) : all_(all) {}

  void add(std::string_view check, const std::string& message) {
    if (count_++ < max_findings) all_.push_back({std::string(check), message});
  }
  // Says how many more there are.
  void close(std::string_view check) {
    if (count_ <= max_findings) return;
    all_.push_back({std::string(check), std::to_string(count_ - max_findings) + " more differ"});
  }

 private:
  std::vector<Finding>& all_;
  std::size_t count_ = 0;
};

std::string by_entry(std::uint64_t sequence) {
  if (sequence >= first_pending) return " by an entry that has no sequence number yet";
  return " by entry " + std::to_string(sequence);
}

// A batch, and what is known of its records so far.
struct Part : BatchOfTable {
  explicit Part(const BatchOfTable& batch) : BatchOfTable(batch) {}

  // Whether keys follow each other, so that a missing record is known by its key.
  bool is_contiguous() const {
    return static_cast<std::uint64_t>(last_key - first_key) + 1 == count;
  }
  bool is_altered() const {
    return tree.size() != count ||
           comptroller::text_of(HexadecimalDigits{journal::bytes_of(tree.root())}) != root;
  }

  journal::Tree tree = {};
  std::string record_hashes = {};
  CustomerKeys keys = {};
  std::vector<std::int64_t> differing = {};      // keys of records that differ in these
  std::vector<std::vector<Hash>> subtrees = {};  // by level, if a proof is wanted
};

// Compares the stored keys of customers with the records.
class CustomerKeysCheck {
 public:
  explicit CustomerKeysCheck(db::Connection& connection) : connection_(connection) {}

  void compare(const Part& part) {
    BatchKeys keys;
    keys.add(part.place, part.keys);
    for (const auto& [customer, expected] : keys.by_customer()) {
      db::Query stored = connection_.query(
          "SELECT keys FROM journal_batch_keys WHERE customer_id = ? AND sequence = ?");
      stored.bind(1, connection_.symbols().find(customer).value_or(0))
          .bind(2, static_cast<std::int64_t>(part.sequence));
      const bool is_equal = stored.step() && keys_of_part(stored.column(0).bytes, part.place) ==
                                                 keys_of_part(expected, part.place);
      if (!is_equal) altered_.insert(part.sequence);
      compared_ += expected.size();
    }
  }
  // Reports the entries whose keys differ. The keys of entries before `from` were not compared,
  // nor, unless `is_complete`, those of parts whose records were altered.
  void report(std::uint64_t from, bool is_complete, Findings& findings) {
    for (const std::uint64_t sequence : altered_) {
      findings.add("journal", "the customers of the records of entry " + std::to_string(sequence) +
                                  " were altered");
    }
    if (!is_complete || !altered_.empty()) return;
    const std::string length(connection_.dialect().length_of_keys);
    db::Query stored =
        connection_.query("SELECT coalesce(sum(CASE WHEN " + length + " > 1 THEN " + length +
                          " ELSE 1 END), 0) FROM journal_batch_keys"
                          " WHERE sequence >= ?");
    stored.bind(1, static_cast<std::int64_t>(from)).step();
    if (std::cmp_not_equal(stored.number(0), compared_)) {
      findings.add("journal", "keys of records were added to a batch");
    }
  }

 private:
  db::Connection& connection_;
  std::set<std::uint64_t> altered_;
  std::uint64_t compared_ = 0;  // bytes
};

// What the entries say that the records are compared with.
struct Expected {
  Batches batches;
  std::uint64_t from = 0;  // entries before this one are in the digest of an archive
};

// Checks that the entry of the newest archive is that of the archived entries.
void check_archive(const std::string& content, const JournalCheck& check, const Hash& root,
                   Findings& findings) {
  if (check.archived == 0 && content.empty()) return;
  json::RawMembers archive;
  if (!content.empty()) {
    archive = json::raw_members(json::raw_members(content).begin()->second);
  }
  if (archive["entries"] == std::to_string(check.archived) &&
      archive["root"] ==
          '"' + comptroller::text_of(HexadecimalDigits{journal::bytes_of(root)}) + '"') {
    return;
  }
  findings.add("journal", "the first " + std::to_string(check.archived) +
                              " entries were removed, but not by `comptroller journal archive`");
}

// Computes the tree again, compares it with the stored hashes, and collects the batches.
Expected check_entries(db::Connection& connection, JournalCheck& check) {
  Findings findings(check.findings);
  Expected expected;
  check.archived = archived_size(connection);
  journal::Tree tree = journal::tree_of(check.archived, hash_reader(connection));
  const Hash root_of_archived = tree.root();
  std::string archive;  // the content of its entry
  visit_entries(connection, {}, [&](const Entry& entry) {
    const std::string name = "entry " + std::to_string(entry.sequence);
    if (entry.sequence != tree.size()) {
      findings.add("journal", "the entries before " + name + " are missing");
      return false;
    }
    if (entry.hashes != stored_hashes(tree.append(journal::leaf_hash(entry.text)))) {
      findings.add("journal", name + " was altered: its content does not have its hash");
    }
    if (entry.effects != effects_of(entry.content)) {
      findings.add("journal", "the effects of " + name + " were altered");
    }
    if (is_archive(entry.content)) {
      archive = entry.content;
      expected.from = entry.sequence;
    }
    add_batches(expected.batches, entry.sequence, entry.content);
    return true;
  });
  check.size = tree.size();
  check.root = tree.root();
  check_archive(archive, check, root_of_archived, findings);
  findings.close("journal");
  return expected;
}

// The records of one table, checked in order of key.
template <Record R>
class TableCheck {
 public:
  TableCheck(db::Connection& connection, const Expected& expected, Findings& findings,
             RecordProofs& proofs, CustomerKeysCheck& customers)
      : connection_(connection),
        entries_(connection,
                 {.table = R::table, .after = static_cast<std::int64_t>(expected.from) - 1}),
        findings_(findings),
        proofs_(proofs),
        customers_(customers) {
    const auto batches = expected.batches.find(R::table);
    if (batches == expected.batches.end()) return;
    for (const BatchOfTable& batch : batches->second) parts_.emplace_back(batch);
    std::ranges::sort(parts_, {}, &Part::first_key);
  }

  void run() {
    db::Query rows = connection_.query_many("SELECT " + select_list<R>() + ", key FROM " +
                                            std::string(R::table) + " ORDER BY key");
    std::string content;
    while (rows.step()) {
      const std::int64_t key = rows.number(static_cast<int>(field_count<R>));
      check_missing(key);
      content.clear();
      try {
        json::append_canonical<R>(content, Row{rows, connection_.symbols()});
      } catch (const Error& error) {
        if (problem(error.code()).status == 503) throw;  // not of the value
        differs(key, "cannot be read: " + error.detail());
        if (entries_.key() == key) entries_.take();
        continue;
      }
      if (entries_.key() == key) {
        unwind(key, json::raw_members(content));
      } else {
        add_to_batch(key, content, customer_in<R>(Row{rows, connection_.symbols()}));
      }
    }
    check_missing(std::nullopt);
    while (part_ < parts_.size()) leave_part();
  }

 private:
  void differs(std::int64_t key, const std::string& how) {
    reported_.insert(key);
    findings_.add(R::table, "the record with key " + std::to_string(key) + " " + how);
  }

  // The records with entries before `end` that are not in the table must be deleted ones.
  void check_missing(std::optional<std::int64_t> end) {
    while (entries_.key() && (!end || *entries_.key() < *end)) {
      unwind(*entries_.key(), std::nullopt);
    }
  }

  // Follows the entries of a record from the newest to the oldest.
  void unwind(std::int64_t key, std::optional<json::RawMembers> state) {
    const auto entries = entries_.take();
    for (const RecordEntry& entry : std::views::reverse(entries)) {
      const std::string where = by_entry(entry.sequence);
      const json::RawMembers content = json::raw_members(entry.content);
      const auto after = content.find("after");
      const auto before = content.find("before");
      if (after == content.end()) {
        if (state) return differs(key, "exists, but was deleted" + where);
        state = json::raw_members(before == content.end() ? "{}" : before->second);
        continue;
      }
      if (!state) return differs(key, "is missing; it was written" + where);
      const json::RawMembers written = json::raw_members(after->second);
      if (before == content.end()) {
        if (*state == written) return;
        return differs(key, not_as_written(name(*state, written), where));
      }
      for (const auto& [member, value] : written) {
        const auto found = state->find(member);
        if (found == state->end() || found->second != value) {
          return differs(key, not_as_written(member, where));
        }
      }
      undo(*state, content);
    }
    if (!state) return;
    const std::int64_t customer = entries.front().customer;  // it never changes
    add_to_batch(key, json::to_object(*state),
                 customer == 0 ? std::string_view() : connection_.symbols().text(customer));
  }

  static std::string not_as_written(const std::string& member, const std::string& where) {
    return std::string(member).append(" is not as it was written").append(where);
  }

  // The first member in which two records differ.
  static std::string name(const json::RawMembers& a, const json::RawMembers& b) {
    for (const auto& [member, value] : a) {
      const auto other = b.find(member);
      if (other == b.end() || other->second != value) return member;
    }
    for (const auto& [member, value] : b) {
      if (!a.contains(member)) return member;
    }
    return {};
  }

  void add_to_batch(std::int64_t key, std::string_view content, std::string_view customer) {
    while (part_ < parts_.size() && parts_[part_].last_key < key) leave_part();
    if (part_ == parts_.size() || parts_[part_].first_key > key) {
      return differs(key, "was not written by comptroller: it has no entry in the journal");
    }
    Part& part = parts_[part_];
    if (part.tree.size() == 0) enter(part);
    const Hash hash = journal::leaf_hash(content);
    const std::uint64_t index = part.tree.size();
    if (part.is_contiguous()) {
      for (; next_key_ < key; ++next_key_) missing(part, next_key_);
      next_key_ = key + 1;
    }
    const auto place =
        part.is_contiguous() ? static_cast<std::uint64_t>(key - part.first_key) : index;
    const std::size_t from = static_cast<std::size_t>(place) * record_hash_size;
    if (from < part.record_hashes.size() && part.differing.size() < max_findings &&
        std::string_view(part.record_hashes).substr(from, record_hash_size) !=
            journal::bytes_of(hash).substr(0, record_hash_size)) {
      part.differing.push_back(key);
    }
    part.keys.add(customer, key);
    const auto completed = part.tree.append(hash);
    if (part.subtrees.empty()) return;
    for (std::size_t level = 0; level < completed.size(); ++level) {
      part.subtrees[level].push_back(completed[level]);
    }
    if (const auto wanted = proofs_.find(key); wanted != proofs_.end()) {
      wanted->second = {part.sequence, index};
    }
  }

  void enter(Part& part) {
    next_key_ = part.first_key;
    part.record_hashes = read_record_hashes(connection_, part.sequence);
    const std::size_t before = part.record_hashes_before * record_hash_size;
    const std::size_t size = part.count * record_hash_size;
    const bool has_all = part.record_hashes.size() >= before + size;
    part.record_hashes = has_all ? part.record_hashes.substr(before, size) : std::string();
    const auto wanted = proofs_.lower_bound(part.first_key);
    if (wanted != proofs_.end() && wanted->first <= part.last_key) part.subtrees.resize(64);
  }

  // A record that differs from its entries is not among those of its part.
  void missing(const Part& part, std::int64_t key) {
    if (reported_.contains(key)) return;
    differs(key, "is missing; it was inserted by entry " + std::to_string(part.sequence));
  }

  // Checks the records of the current part, and goes on to the next one.
  void leave_part() {
    Part& part = parts_[part_++];
    if (part.tree.size() == 0) next_key_ = part.first_key;
    if (part.is_altered()) {
      report(part);
    } else {
      customers_.compare(part);
      if (!part.differing.empty() || part.record_hashes.empty()) {
        findings_.add(R::table, "the short hashes of the records of entry " +
                                    std::to_string(part.sequence) + " were altered");
      }
    }
    for (auto& [key, proof] : proofs_) {
      if (key < part.first_key || key > part.last_key || part.subtrees.empty()) continue;
      if (proof.index >= part.tree.size()) continue;  // it is missing
      proof.path = journal::inclusion_proof(
          proof.index, part.tree.size(), [&](unsigned level, std::uint64_t index) {
            return part.subtrees.at(level).at(static_cast<std::size_t>(index));
          });
    }
    part.subtrees = {};
    part.record_hashes = {};
    part.keys = {};
  }

  // Names the records of a part that differ. If only its root differs, names the part.
  void report(const Part& part) {
    const std::string by = " by entry " + std::to_string(part.sequence);
    if (part.is_contiguous()) {
      for (; next_key_ <= part.last_key; ++next_key_) missing(part, next_key_);
    }
    for (const std::int64_t key : part.differing) {
      differs(key, "is not as it was inserted" + by);
      if (!part.is_contiguous()) break;  // the others may only have moved up
    }
    if (!part.differing.empty() || (part.is_contiguous() && part.tree.size() < part.count)) return;
    findings_.add(R::table, "records that were inserted" + by + " (keys " +
                                std::to_string(part.first_key) + " to " +
                                std::to_string(part.last_key) + ") were altered");
  }

  db::Connection& connection_;
  RecordEntries entries_;
  Findings& findings_;
  RecordProofs& proofs_;
  CustomerKeysCheck& customers_;
  std::vector<Part> parts_;
  std::set<std::int64_t> reported_;  // keys
  std::size_t part_ = 0;             // of the next key
  std::int64_t next_key_ = 0;        // of a part whose keys follow each other
};

}  // namespace

JournalCheck check_journal(db::Connection& connection,
                           std::map<std::string, RecordProofs, std::less<>>* proofs) {
  JournalCheck check;
  const Expected expected = check_entries(connection, check);
  CustomerKeysCheck customers(connection);
  const auto check_table = [&]<class R>() {
    Findings findings(check.findings);
    RecordProofs none;
    RecordProofs& wanted = proofs != nullptr ? (*proofs)[std::string(R::table)] : none;
    TableCheck<R>(connection, expected, findings, wanted, customers).run();
    findings.close(R::table);
  };
  for_each_table(check_table);
  check_table.template operator()<Webhook>();
  Findings findings(check.findings);
  customers.report(expected.from, check.findings.empty(), findings);
  return check;
}

}  // namespace comptroller::store
