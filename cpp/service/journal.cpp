#include "service/journal.hpp"

#include "journal/tree.hpp"
#include "json/writer.hpp"
#include "model/hexadecimal.hpp"
#include "service/authorisation.hpp"
#include "store/journal.hpp"
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
};

// A snapshot of the store for a principal with the scope.
struct Reading {
  Reading(Service& service, const Principal& principal, std::string_view scope)
      : lease((service.check_usable(), require_scope(principal, scope, false),
               service.database()->reader())),
        snapshot(*lease) {}

  journal::ReadHash read_hash() {
    return
        [&](unsigned level, std::uint64_t index) { return store::read_hash(*lease, level, index); };
  }

  db::Lease lease;
  db::Snapshot snapshot;
};

}  // namespace

journal::Checkpoint journal_head(Service& service, const Principal& principal, std::string origin) {
  Reading reading(service, principal, read_journal);
  const std::uint64_t size = store::journal_size(*reading.lease);
  return {std::move(origin), size, journal::tree_of(size, reading.read_hash()).root()};
}

std::string verify_journal(Service& service, const Principal& principal,
                           const std::optional<journal::Checkpoint>& earlier) {
  Reading reading(service, principal, operator_read);
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
