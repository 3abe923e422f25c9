#include "store/journal_check.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <ranges>

#include "journal/tree.hpp"
#include "json/canonical.hpp"
#include "json/raw_members.hpp"
#include "model/hexadecimal.hpp"
#include "model/records/webhooks.hpp"
#include "store/changes.hpp"
#include "store/columns.hpp"
#include "store/record_entries.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

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

// The records of one table in one batch.
struct Part {
  std::uint64_t sequence = 0;  // of the batch
  std::int64_t first_key = 0;
  std::int64_t last_key = 0;
  std::uint64_t count = 0;
  std::string root;  // hexadecimal
  journal::Tree tree = {};
};
using Parts = std::map<std::string, std::vector<Part>, std::less<>>;

// Computes the tree again, compares it with the stored hashes, and collects the batches.
void check_entries(db::Connection& connection, JournalCheck& check, Parts& parts) {
  Findings findings(check.findings);
  journal::Tree tree;
  visit_entries(connection, {}, [&](const Entry& entry) {
    const std::string name = "entry " + std::to_string(entry.sequence);
    if (entry.sequence != tree.size()) {
      findings.add("journal", "the entries before " + name + " are missing");
      return false;
    }
    const auto hashes = tree.append(journal::leaf_hash(entry.text));
    if (entry.hashes !=
        std::string_view(reinterpret_cast<const char*>(hashes.data()), hashes.size_bytes())) {
      findings.add("journal", name + " was altered: its content does not have its hash");
    }
    for (BatchPart& part : batch_parts(entry.content)) {
      parts[part.resource].push_back({entry.sequence, static_cast<std::int64_t>(part.first_key),
                                      static_cast<std::int64_t>(part.last_key), part.count,
                                      std::move(part.root)});
    }
    return true;
  });
  findings.close("journal");
  check.size = tree.size();
  check.root = tree.root();
  for (auto& [table, list] : parts) std::ranges::sort(list, {}, &Part::first_key);
}

// The records of one table, checked in order of key.
template <Record R>
class TableCheck {
 public:
  TableCheck(db::Connection& connection, std::vector<Part>& parts, Findings& findings)
      : connection_(connection),
        entries_(connection, {.table = R::table}),
        parts_(parts),
        findings_(findings) {}

  void run() {
    db::Query rows = connection_.query("SELECT " + select_list<R>() + ", key FROM " +
                                       std::string(R::table) + " ORDER BY key");
    std::string content;
    while (rows.step()) {
      const std::int64_t key = rows.number(static_cast<int>(field_count<R>));
      check_missing(key);
      content.clear();
      try {
        json::append_canonical<R>(content, Row{rows, connection_.symbols()});
      } catch (const Error& error) {
        differs(key, "cannot be read: " + error.detail());
        if (entries_.key() == key) entries_.take();
        continue;
      }
      if (entries_.key() == key) {
        unwind(key, json::raw_members(content));
      } else {
        add_to_batch(key, content);
      }
    }
    check_missing(std::nullopt);
    for (const Part& part : parts_) check_part(part);
  }

 private:
  void differs(std::int64_t key, const std::string& how) {
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
      const std::string where = " by entry " + std::to_string(entry.sequence);
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
        state->erase(found);
      }
      for (const auto& [member, value] : json::raw_members(before->second)) {
        (*state)[member] = value;
      }
    }
    if (state) add_to_batch(key, json::to_object(*state));
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

  void add_to_batch(std::int64_t key, std::string_view content) {
    while (part_ < parts_.size() && parts_[part_].last_key < key) ++part_;
    if (part_ == parts_.size() || parts_[part_].first_key > key) {
      return differs(key, "was not written by comptroller: it has no entry in the journal");
    }
    parts_[part_].tree.append(journal::leaf_hash(content));
  }

  void check_part(const Part& part) {
    const std::string records = "the records that entry " + std::to_string(part.sequence) +
                                " inserted (keys " + std::to_string(part.first_key) + " to " +
                                std::to_string(part.last_key) + ")";
    if (part.tree.size() != part.count) {
      findings_.add(R::table, records + " are " + std::to_string(part.tree.size()) + ", not " +
                                  std::to_string(part.count));
      return;
    }
    const journal::Hash root = part.tree.root();
    if (comptroller::text_of(HexadecimalDigits{journal::bytes_of(root)}) != part.root) {
      findings_.add(R::table, records + " were altered: their digest differs");
    }
  }

  db::Connection& connection_;
  RecordEntries entries_;
  std::vector<Part>& parts_;
  Findings& findings_;
  std::size_t part_ = 0;  // of the next key
};

}  // namespace

JournalCheck check_journal(db::Connection& connection) {
  JournalCheck check;
  Parts parts;
  check_entries(connection, check, parts);
  const auto check_table = [&]<class R>() {
    Findings findings(check.findings);
    TableCheck<R>(connection, parts[std::string(R::table)], findings).run();
    findings.close(R::table);
  };
  for_each_table(check_table);
  check_table.template operator()<Webhook>();
  return check;
}

}  // namespace comptroller::store
