// The change feed, and the entries of the journal.
#include "model/changes.hpp"
#include "model/records/webhooks.hpp"
#include "service/feed_cursors.hpp"
#include "service/journal.hpp"
#include "service/operation_rows.hpp"
#include "service/operations.hpp"
#include "store/change_feed.hpp"
#include "store/journal.hpp"
#include "store/page_rows.hpp"
#include "store/streams.hpp"
#include "store/tables.hpp"

namespace comptroller::service {

namespace {

std::string_view scope_of(ChangedResource resource) {
  return scope_to_read(enum_text(resource));
}

// Returns the named resources, or else all that the principal may read. Throws insufficient_scope.
std::vector<ChangedResource> shown_resources(const Principal& principal,
                                             const std::vector<ChangedResource>& named) {
  for (const ChangedResource resource : named) {
    require_scope(principal, scope_of(resource), false);
  }
  if (!named.empty()) return named;
  std::vector<ChangedResource> shown;
  for (std::size_t code = 0; code < enum_texts<ChangedResource>.size(); ++code) {
    const auto resource = static_cast<ChangedResource>(code);
    if (principal.is_operator() ||
        std::ranges::find(principal.scopes, scope_of(resource)) != principal.scopes.end()) {
      shown.push_back(resource);
    }
  }
  return shown;
}

ChangePage list_changes(Context& context, const ListChanges& request) {
  store::FeedQuery query{
      .customer = listed_customer(context.principal, request.customer_id),
      .resources = shown_resources(context.principal, request.resources),
      .audience = audience_of(context.principal),
      .limit = static_cast<std::size_t>(request.limit.value_or(PageLimit{}).value),
      .bytes = context.page_bytes};
  if (request.after) query.after = feed_position(context, *request.after);
  store::FeedPage found = store::read_feed(context.connection, query);
  ChangePage page{.next_cursor = end_cursor(context, found.end), .has_more = found.has_more};
  page.items.reserve(found.changes.size());
  for (store::FeedChange& each : found.changes) {
    each.change.cursor = feed_cursor(context, each.position);
    page.items.push_back(std::move(each.change));
  }
  return page;
}

// Returns the records with an id, among them those that were removed.
std::vector<store::RecordKey> find_records(db::Connection& connection, const Id& id) {
  std::vector<store::RecordKey> found;
  store::for_each_table([&]<class R>() {
    if constexpr (requires(R record) { record.id; }) {
      if (const auto record = store::find<R>(connection, id.value)) {
        found.emplace_back(R::table, record->key);
      }
    }
  });
  if (const auto webhook = store::find<Webhook>(connection, id.value)) {
    found.emplace_back(Webhook::table, webhook->key);
  }
  store::BoundValues values(connection.symbols());
  db::Query rows = connection.query(
      "SELECT resource, key FROM journal INDEXED BY journal_of_removed"
      " WHERE (effects & 1) <> 0 AND id = ?");
  rows.bind(1, values.identifier(id.value));
  while (rows.step()) {
    found.emplace_back(connection.symbols().text(rows.number(0)), rows.number(1));
  }
  return found;
}

// A page that a filter could leave empty ends after max_rows_visited entries.
JournalPage list_journal(Context& context, const ListJournal& request) {
  const auto limit = static_cast<std::size_t>(request.limit.value_or(PageLimit{}).value);
  const std::int64_t after = request.after ? request.after->value : -1;
  const auto size = static_cast<std::int64_t>(store::journal_size(context.connection));
  std::int64_t end = size;
  store::EntrySelection selection{.from = static_cast<std::uint64_t>(std::min(after, size)) + 1,
                                  .customer = context.principal.customer};
  if (request.resource) selection.resource = enum_text(*request.resource);
  if (request.id) {
    selection.records = find_records(context.connection, *request.id);
  } else if (request.resource) {
    end = std::min(end, std::min(after, size) + 1 + store::max_rows_visited);
  }
  selection.end = static_cast<std::uint64_t>(end);
  JournalPage page{.last = {std::max(after, end - 1)}, .has_more = end < size};
  std::size_t bytes = 0;
  const auto is_full = [&] {
    return page.items.size() == limit || context.page_bytes.is_full(bytes);
  };
  store::visit_entries(context.connection, selection, [&](const store::Entry& entry) {
    page.has_more |= is_full();
    if (is_full()) return false;
    bytes += entry.text.size();
    page.items.push_back({entry.text});
    page.last.value = static_cast<std::int64_t>(entry.sequence);
    return true;
  });
  if (!is_full()) page.last.value = std::max(after, end - 1);
  return page;
}

InclusionProof prove(Context& context, const ProveEntry& request) {
  db::Connection& connection = context.connection;
  const auto sequence = static_cast<std::uint64_t>(request.sequence.value);
  const JournalHead head = journal_head(connection);
  if (const auto archive = store::archive_of(connection, sequence)) {
    throw Error(Code::not_found, "entry " + std::to_string(sequence) +
                                     " was moved to an archive; entry " + std::to_string(*archive) +
                                     " has the SHA-256 of its file");
  }
  bool is_shown = false;
  store::visit_entries(
      connection, {.from = sequence, .end = sequence + 1, .customer = context.principal.customer},
      [&](const store::Entry&) { return !(is_shown = true); });
  if (!is_shown) {
    throw Error(Code::not_found, "there is no entry " + std::to_string(sequence) +
                                     "; the journal has " + std::to_string(head.size));
  }
  return prove_entry(connection, sequence, head);
}

std::vector<Operation> make_operations() {
  const Endpoints changes{"changes", "/changes", versioned(), "changes:read", ""};
  const Endpoints journal{"journal", "/journal", versioned(), read_journal, ""};
  return {
      read_row(changes, &list_changes,
               {.name = "list",
                .summary = "Returns changes of records in order of commit, each once.",
                .details =
                    "An addition to the interface. A client sees the changes of its own customer's "
                    "records, of the resources that its other scopes let it read. Each record that "
                    "a load inserted is a change.",
                .errors = {{Code::invalid_cursor,
                            "the cursor belongs to another customer, is damaged, or is behind the "
                            "end of the feed because an older backup was restored"},
                           {Code::insufficient_scope,
                            "a client may not read one of the named resources"}}}),
      read_row(journal, &list_journal,
               {.name = "list",
                .summary = "Returns entries of the journal in order of commit.",
                .details = "An addition to the interface. A client sees the entries of its own "
                           "customer's records, but not those of loads."}),
      read_row(journal, &prove,
               {.name = "prove",
                .summary = "Returns the proof that an entry is in the journal.",
                .route = "GET /proof",
                .details = "An addition to the interface.",
                .errors = {{Code::not_found,
                            "there is no such entry, or it belongs to another customer"}}})};
}

}  // namespace

std::vector<Operation> journal_operations() {
  std::vector<Operation> operations = make_operations();
  for (Operation& operation : operations) operation.reads_journal = true;
  return operations;
}

}  // namespace comptroller::service
