#include "service/maintenance.hpp"

#include <algorithm>
#include <iterator>

#include "json/writer.hpp"
#include "service/authorisation.hpp"
#include "service/shared_documents.hpp"
#include "store/invariants.hpp"
#include "store/journal.hpp"
#include "store/journal_check.hpp"

namespace comptroller::service {

namespace {

using Sizes = std::vector<std::pair<std::string_view, std::int64_t>>;
struct Soundness {
  RECORD(Soundness);
  FIELD(bool, ok);
  FIELD(std::vector<store::Finding>, findings);
  FIELD(std::vector<store::Finding>, notices);
  FIELD(std::string, engine);
  FIELD(std::vector<std::string>, copies);
  FIELD(Sizes, rows);
};

// What does no harm to the records, but needs the operator.
std::vector<store::Finding> notices(db::Database& database) {
  const std::uint64_t pending = database.log_size().pending;
  if (pending < db::large_log) return {};
  return {{"log", std::to_string(pending >> 20U) +
                      " MiB of the write-ahead log are not in the store's file, because a program "
                      "reads an old state; end its stream, backup or transaction, and the next "
                      "writes shrink the log"}};
}

}  // namespace

std::string check(Service& service, const Principal& principal) {
  service.check_usable();
  require_scope(principal, operator_read, false);
  const db::Health health = service.database()->health();
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  Soundness soundness{false,
                      {},
                      notices(*service.database()),
                      health.engine,
                      health.copies,
                      store::table_sizes(*connection)};
  std::vector<store::Finding>& findings = soundness.findings;
  for (const std::string& finding : health.findings) findings.push_back({"integrity", finding});
  const bool is_whole = findings.empty();
  if (health.copies.size() > 1) {
    findings.push_back({"sqlite", "this process has more than one copy of SQLite"});
  }
  if (is_whole) {
    std::ranges::move(store::broken_invariants(*connection), std::back_inserter(findings));
    std::ranges::move(store::check_journal(*connection).findings, std::back_inserter(findings));
  }
  soundness.ok = findings.empty();
  return json::to_text(soundness);
}

JournalHead backup(Service& service, const Principal& principal, const std::string& destination) {
  service.check_usable();
  require_scope(principal, operator_read, false);
  if (service.database()->owns(destination)) {
    throw Error::invalid("destination",
                         destination + " is a file of the store itself; name another file");
  }
  JournalHead head;
  service.database()->backup(destination,
                             [&](db::Connection& snapshot) { head = journal_head(snapshot); });
  return head;
}

namespace {

// Throws unless the copy is sound and has the journal of the store.
void verify_copy(db::Connection& copy, const JournalHead& expected) {
  std::vector<store::Finding> findings = store::broken_invariants(copy);
  std::ranges::move(store::check_journal(copy).findings, std::back_inserter(findings));
  if (!findings.empty()) {
    throw Error(Code::unusable,
                "the copy is not sound, so nothing was kept: " + findings.front().check + ": " +
                    findings.front().message + "; `comptroller check` of the store says more");
  }
  const JournalHead found = journal_head(copy);
  if (found.size == expected.size && found.root == expected.root) return;
  throw Error(Code::unusable, "the journal of the copy differs, so nothing was kept");
}

}  // namespace

Copied copy(Service& service, const Principal& principal, db::Database& target,
            const store::CopyProgress& progress) {
  service.check_usable();
  require_scope(principal, operator_read, false);
  service.sequence_entries();
  const db::Lease from = service.database()->reader();
  const db::Snapshot snapshot(*from);
  if (from->dialect().has_pending_entries && store::has_pending_entries(*from)) {
    throw Error(Code::unavailable,
                "the journal has entries without a number: programs write to the store, or ended "
                "suddenly; end them, open the store for writing, and copy it again");
  }
  Copied copied{{}, journal_head(*from)};
  target.fill({.has_own_symbols = true})->write([&](db::Connection& to, db::Connection*) {
    if (!store::is_unused(to)) {
      throw Error::invalid("destination", "has a store already; name an empty database");
    }
    store::copy_rows(*from, to, progress);
    if (!(from->dialect().is_remote && to.dialect().is_remote)) remove_shared(to);
    verify_copy(to, copied.journal);
    copied.rows = store::table_sizes(to);
    return true;
  });
  const db::Health health = target.health();
  if (health.findings.empty()) return copied;
  throw Error(Code::unusable, "the copy is damaged: " + health.findings.front());
}

}  // namespace comptroller::service
