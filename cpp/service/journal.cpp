#include "service/journal.hpp"

#include "journal/tree.hpp"
#include "json/writer.hpp"
#include "model/error.hpp"
#include "model/hexadecimal.hpp"
#include "model/records/webhooks.hpp"
#include "service/authorisation.hpp"
#include "store/journal.hpp"
#include "store/journal_check.hpp"
#include "store/records.hpp"
#include "store/sql.hpp"
#include "store/storage.hpp"
#include "store/tables.hpp"

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
};

struct InclusionProof {
  RECORD(InclusionProof);
  FIELD(std::string, entry);
  FIELD(std::uint64_t, sequence);
  FIELD(std::uint64_t, size);
  FIELD(std::string, root);
  FIELD(std::vector<std::string>, proof);
};

// A snapshot of the store for the operator.
struct Reading {
  Reading(Service& service, const Principal& principal)
      : lease((service.check_usable(), require_scope(principal, operator_read, false),
               service.database()->reader())),
        snapshot(*lease) {}

  journal::ReadHash read_hash() {
    return
        [&](unsigned level, std::uint64_t index) { return store::read_hash(*lease, level, index); };
  }

  db::Lease lease;
  db::Snapshot snapshot;
};

// Returns the table and key of the records with this id.
std::vector<std::pair<std::string, std::int64_t>> find_records(
    db::Connection& connection, const std::string& id, const std::optional<std::string>& resource) {
  std::vector<std::pair<std::string, std::int64_t>> found;
  store::for_each_table([&]<class R>() {
    if (resource && *resource != R::table) return;
    if constexpr (requires(R record) { record.id; }) {
      if (const auto record = store::find<R>(connection, id)) {
        found.emplace_back(R::table, record->key);
      }
    }
  });
  if (!found.empty()) return found;
  // A deleted record has only entries.
  store::BoundValues values(connection.symbols());
  db::Query rows = connection.query("SELECT DISTINCT resource, key FROM journal WHERE id = ?");
  rows.bind(1, values.identifier(id));
  while (rows.step()) {
    std::string table(connection.symbols().text(rows.number(0)));
    if (!resource || *resource == table) found.emplace_back(std::move(table), rows.number(1));
  }
  return found;
}

}  // namespace

std::string journal_entries(Service& service, const Principal& principal,
                            const JournalQuery& query) {
  Reading reading(service, principal);
  db::Connection& connection = *reading.lease;
  std::string answer = R"({"items":[)";
  std::uint64_t count = 0;
  const auto add = [&](const store::Entry& entry) {
    if (count++ > 0) answer += ',';
    answer += entry.text;
    return count < query.limit;
  };
  if (query.resource && *query.resource != Webhook::table) {
    store::visit_table(*query.resource, []<class R>() {});
  }
  if (query.id) {
    for (const auto& [table, key] : find_records(connection, *query.id, query.resource)) {
      if (count < query.limit) {
        store::visit_entries(connection, {.from = query.from, .resource = table, .key = key}, add);
      }
    }
  } else if (query.limit > 0) {
    store::visit_entries(connection, {.from = query.from, .resource = query.resource}, add);
  }
  return answer + "]}";
}

journal::Checkpoint journal_head(Service& service, const Principal& principal, std::string origin) {
  Reading reading(service, principal);
  const std::uint64_t size = store::journal_size(*reading.lease);
  return {std::move(origin), size, journal::tree_of(size, reading.read_hash()).root()};
}

std::string prove_entry(Service& service, const Principal& principal, std::uint64_t sequence) {
  Reading reading(service, principal);
  InclusionProof proof;
  proof.size = store::journal_size(*reading.lease);
  if (sequence >= proof.size) {
    throw Error(Code::not_found, "there is no entry " + std::to_string(sequence) +
                                     "; the journal has " + std::to_string(proof.size));
  }
  store::visit_entries(*reading.lease, {.from = sequence}, [&](const store::Entry& entry) {
    proof.entry = entry.text;
    return false;
  });
  proof.sequence = sequence;
  proof.root = digits_of(journal::tree_of(proof.size, reading.read_hash()).root());
  for (const journal::Hash& hash :
       journal::inclusion_proof(sequence, proof.size, reading.read_hash())) {
    proof.proof.push_back(digits_of(hash));
  }
  return json::to_text(proof);
}

std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<journal::Checkpoint>& earlier) {
  Reading reading(service, principal);
  store::JournalCheck check = store::check_journal(*reading.lease);
  if (earlier && earlier->size > check.size) {
    check.findings.push_back(
        {"checkpoint", "the checkpoint has " + std::to_string(earlier->size) +
                           " entries, but the journal has " + std::to_string(check.size) +
                           ": its end was cut off, or an older backup was restored"});
  } else if (earlier &&
             journal::tree_of(earlier->size, reading.read_hash()).root() != earlier->root) {
    check.findings.push_back(
        {"checkpoint", "the first " + std::to_string(earlier->size) +
                           " entries are not those of the checkpoint: they were altered later"});
  }
  Verification verification;
  verification.size = check.size;
  verification.root = digits_of(check.root);
  verification.findings = std::move(check.findings);
  verification.ok = verification.findings.empty();
  return json::to_text(verification);
}

}  // namespace comptroller::service
