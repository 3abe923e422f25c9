#include "service/journal.hpp"

#include <map>
#include <set>
#include <span>

#include "journal/checkpoint.hpp"
#include "journal/tree.hpp"
#include "json/writer.hpp"
#include "model/hexadecimal.hpp"
#include "service/authorisation.hpp"
#include "store/journal_check.hpp"

namespace comptroller::service {

namespace {

std::string digits_of(const journal::Hash& hash) {
  return text_of(HexadecimalDigits{journal::bytes_of(hash)});
}

struct Verification {
  RECORD(Verification);
  FIELD(bool, ok);
  FIELD(std::uint64_t, size);
  FIELD(std::string, root);
  FIELD(std::vector<store::Finding>, findings);
  FIELD(std::uint64_t, archived);
};

// That a record is in the batch of an entry.
struct Insertion {
  RECORD(Insertion);
  FIELD(std::string, content);
  FIELD(std::uint64_t, index);
  FIELD(std::uint64_t, count);
  FIELD(std::string, root);
  FIELD(std::vector<std::string>, proof);
};

struct History {
  RECORD(History);
  FIELD(std::string, resource);
  FIELD(std::int64_t, key);
  FIELD(std::optional<std::string>, content);
  FIELD(std::vector<std::uint64_t>, entries);
  FIELD(std::optional<std::uint64_t>, inserted_by);
  FIELD(std::optional<Insertion>, inserted);
  FIELD(std::optional<std::uint64_t>, loaded_by);
  FIELD(std::vector<store::ChangeByLoad>, changed_by);
};

struct Histories {
  RECORD(Histories);
  FIELD(std::uint64_t, size);
  FIELD(std::string, root);
  FIELD(std::vector<History>, records);
  FIELD(std::vector<InclusionProof>, entries);
  FIELD(std::vector<store::Finding>, findings);
};

// A snapshot of the store for a principal with the scope.
struct Reading {
  Reading(Service& service, const Principal& principal, std::string_view scope)
      : lease(lend(service, principal, scope)), snapshot(*lease) {}

  static db::Lease lend(Service& service, const Principal& principal, std::string_view scope) {
    service.check_usable();
    require_scope(principal, scope, false);
    service.sequence_entries();
    return service.database()->reader();
  }

  journal::ReadHash read_hash() { return store::hash_reader(*lease); }

  db::Lease lease;
  db::Snapshot snapshot;
};

std::vector<std::string> digits_of_all(std::span<const journal::Hash> hashes) {
  std::vector<std::string> digits;
  for (const journal::Hash& hash : hashes) digits.push_back(digits_of(hash));
  return digits;
}

std::string entry_text(db::Connection& connection, std::uint64_t sequence) {
  std::string text;
  store::visit_entries(connection, {.from = sequence}, [&](const store::Entry& entry) {
    text = entry.text;
    return false;
  });
  return text;
}

}  // namespace

std::string journal_entries(Service& service, const Principal& principal,
                            const JournalQuery& query) {
  Reading reading(service, principal, operator_read);
  db::Connection& connection = *reading.lease;
  std::string answer = R"({"items":[)";
  std::uint64_t count = 0;
  const auto add = [&](const store::Entry& entry) {
    if (count++ > 0) answer += ',';
    answer += entry.text;
    return count < query.limit;
  };
  if (query.limit > 0) {
    store::visit_entries(connection, {.from = query.from, .only_batches = query.only_batches}, add);
  }
  return answer + "]}";
}

JournalHead journal_head(db::Connection& snapshot) {
  const std::uint64_t size = store::journal_size(snapshot);
  return {size, digits_of(journal::tree_of(size, store::hash_reader(snapshot)).root())};
}

JournalHead journal_head(Service& service, const Principal& principal) {
  Reading reading(service, principal, read_journal);
  return journal_head(*reading.lease);
}

JournalHead earlier_head(Service& service, const Principal& principal, std::uint64_t size) {
  Reading reading(service, principal, operator_read);
  if (size > store::journal_size(*reading.lease) || size < store::archived_size(*reading.lease)) {
    throw Error::invalid("size", std::to_string(size) + " is not a size with a root in the store");
  }
  return {size, digits_of(journal::tree_of(size, reading.read_hash()).root())};
}

Scan observe_head(Service& service, Scan scan, const Principal& principal,
                  std::shared_ptr<ObservedHead> head) {
  if (!principal.is_operator()) return scan;
  service.sequence_entries();
  scan.listing = [listing = std::move(scan.listing),
                  head = std::move(head)](db::Connection& connection) {
    head->set(journal_head(connection));
    return listing(connection);
  };
  return scan;
}

std::string signed_checkpoint(const journal::SigningKey& key, const JournalHead& head) {
  journal::Checkpoint checkpoint{key.name, head.size, {}};
  if (head.root.size() != 2 * checkpoint.root.size() ||
      !read_lower_hexadecimal(head.root.data(), checkpoint.root.size(),
                              reinterpret_cast<char*>(checkpoint.root.data()))) {
    throw Error::invalid("root", "must be 64 hexadecimal digits in lower case");
  }
  return journal::signed_note(journal::text_of(checkpoint), key);
}

JournalHead opened_checkpoint(const std::string& note, const std::string& verifier_key) {
  const journal::Checkpoint checkpoint =
      journal::read_checkpoint(journal::opened_text(note, verifier_key));
  return {checkpoint.size, digits_of(checkpoint.root)};
}

InclusionProof prove_entry(db::Connection& snapshot, std::uint64_t sequence,
                           const JournalHead& head) {
  InclusionProof proof{.entry = {entry_text(snapshot, sequence)},
                       .sequence = {static_cast<std::int64_t>(sequence)},
                       .size = {static_cast<std::int64_t>(head.size)},
                       .root = {head.root}};
  const auto path = journal::inclusion_proof(sequence, head.size, store::hash_reader(snapshot));
  for (std::string& digits : digits_of_all(path)) proof.proof.push_back({std::move(digits)});
  return proof;
}

std::string record_histories(Service& service, const Principal& principal,
                             const std::vector<store::RecordName>& names, bool with_proofs) {
  Reading reading(service, principal, operator_read);
  db::Connection& connection = *reading.lease;
  const JournalHead head = journal_head(connection);
  Histories histories{head.size, head.root, {}, {}, {}};
  store::RecordHistories finder(connection);
  std::map<std::string, store::RecordProofs, std::less<>> proofs;
  std::set<std::uint64_t> sequences;
  for (const auto& [resource, id] : names) {
    for (store::RecordHistory& record : finder.find(resource, id)) {
      if (record.inserted_by) {
        sequences.insert(*record.inserted_by);
        proofs[record.table][record.key] = {};
      }
      if (record.loaded_by) sequences.insert(*record.loaded_by);
      for (const store::ChangeByLoad& change : record.changed_by) sequences.insert(change.load);
      sequences.insert(record.entries.begin(), record.entries.end());
      histories.records.push_back({std::move(record.table),
                                   record.key,
                                   std::move(record.content),
                                   std::move(record.entries),
                                   record.inserted_by,
                                   {},
                                   record.loaded_by,
                                   std::move(record.changed_by)});
      if (record.inserted_by && with_proofs) {
        histories.records.back().inserted.emplace().content = std::move(record.inserted);
      }
    }
  }
  if (with_proofs) {
    histories.findings = store::check_journal(connection, &proofs).findings;
    for (History& record : histories.records) {
      if (!record.inserted) continue;
      const auto& proof = proofs[record.resource][record.key];
      const store::BatchOfTable* batch =
          store::find_batch(finder.batches(), record.resource, record.key);
      record.inserted->index = proof.index;
      record.inserted->count = batch->count;
      record.inserted->root = batch->root;
      record.inserted->proof = digits_of_all(proof.path);
    }
  }
  for (const std::uint64_t sequence : sequences) {
    if (with_proofs) {
      histories.entries.push_back(prove_entry(connection, sequence, head));
    } else {
      histories.entries.push_back({.entry = {entry_text(connection, sequence)},
                                   .sequence = {static_cast<std::int64_t>(sequence)}});
    }
  }
  return json::to_text(histories);
}

std::string moved_records(Service& service, const Principal& principal,
                          const std::vector<std::string>& texts, bool is_in_any_case) {
  Reading reading(service, principal, operator_read);
  std::string answer = "[";
  for (const auto& [table, id] : store::find_moved_records(*reading.lease, texts, is_in_any_case)) {
    answer += answer.size() > 1 ? ",[" : "[";
    json::JsonWriter(answer).write(std::string_view(table));
    answer += ',';
    json::JsonWriter(answer).write(std::string_view(id));
    answer += ']';
  }
  return answer + ']';
}

void archive_journal(Service& service, const Principal& principal, const store::ArchiveFile& file) {
  service.check_usable();
  require_scope(principal, operator_write, true);
  const store::Origin origin{service.environment().now(), principal.actor, "journal.archive"};
  service.database()->check_may_write();
  service.database()->write_bulk([&](db::Connection& connection) {
    store::archive_entries(connection, origin, file);
    return true;
  });
}

std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<JournalHead>& earlier) {
  Reading reading(service, principal, operator_read);
  store::JournalCheck check = store::check_journal(*reading.lease);
  if (earlier && earlier->size < check.archived) {
    throw Error::invalid("checkpoint",
                         "has " + std::to_string(earlier->size) +
                             " entries, which are all archived; give their files too");
  }
  if (earlier && earlier->size > check.size) {
    check.findings.push_back(
        {"checkpoint", "the checkpoint has " + std::to_string(earlier->size) +
                           " entries, but the journal has " + std::to_string(check.size) +
                           ": its end was cut off, or an older backup was restored"});
  } else if (earlier && digits_of(journal::tree_of(earlier->size, reading.read_hash()).root()) !=
                            earlier->root) {
    check.findings.push_back(
        {"checkpoint", "the first " + std::to_string(earlier->size) +
                           " entries are not those of the checkpoint: they were altered later"});
  }
  Verification verification;
  verification.size = check.size;
  verification.root = digits_of(check.root);
  verification.archived = check.archived;
  verification.findings = std::move(check.findings);
  verification.ok = verification.findings.empty();
  return json::to_text(verification);
}

}  // namespace comptroller::service
