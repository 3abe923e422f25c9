// The change feed.
#include "service/operation_rows.hpp"
#include "service/operations.hpp"
#include "store/change_feed.hpp"
#include "store/journal.hpp"

namespace comptroller::service {

namespace {

using store::FeedPosition;

// The low bits of a sealed position, which hold the part of a batch.
constexpr unsigned part_bits = 6;
constexpr std::int64_t part_mask = (1 << part_bits) - 1;
static_assert(FeedPosition::whole_entry <= part_mask);

// What a cursor belongs to: the feed of all customers, or that of a client's customer.
std::string describe_feed(const Context& context) {
  return std::string(context.operation) + '\n' + context.principal.customer.value_or("");
}

PageCursor cursor_of(const Context& context, const std::string& feed,
                     const FeedPosition& position) {
  const std::int64_t place = position.sequence * (part_mask + 1) + position.part;
  return {seal_cursor(context.cursor_keys, feed, {place, position.key})};
}

FeedPosition position_of(const Context& context, const std::string& feed,
                         const PageCursor& cursor) {
  const auto sealed = open_cursor(context.cursor_keys, feed, cursor.value, "after");
  if (!sealed) return {};
  const FeedPosition position{sealed->created_at >> part_bits, sealed->created_at & part_mask,
                              sealed->key};
  if (std::cmp_greater_equal(position.sequence, store::journal_size(context.connection)) &&
      position.sequence >= 0) {
    throw Error::field(Code::invalid_cursor, "after",
                       "is behind the end of the feed, because an older backup was restored; send "
                       "the request without a cursor");
  }
  return position;
}

// The scope that a client needs to read a resource.
std::string_view scope_of(ChangedResource resource) {
  return require_operation(std::string(enum_text(resource)) + ".list").scope;
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
  const std::string feed = describe_feed(context);
  store::FeedQuery query{
      .customer = listed_customer(context.principal, request.customer_id),
      .resources = shown_resources(context.principal, request.resources),
      .audience = audience_of(context.principal),
      .limit = static_cast<std::size_t>(request.limit.value_or(PageLimit{}).value)};
  if (request.after) query.after = position_of(context, feed, *request.after);
  store::FeedPage found = store::read_feed(context.connection, query);
  ChangePage page{.next_cursor = cursor_of(context, feed, found.end), .has_more = found.has_more};
  page.items.reserve(found.changes.size());
  for (store::FeedChange& each : found.changes) {
    each.change.cursor = cursor_of(context, feed, each.position);
    page.items.push_back(std::move(each.change));
  }
  return page;
}

}  // namespace

std::vector<Operation> journal_operations() {
  const Endpoints changes{"changes", "/changes", versioned(), "changes:read", ""};
  return {read_row(
      changes, &list_changes,
      {.name = "list",
       .summary = "Returns changes of records in order of commit, each once.",
       .details = "An addition to the interface. A client sees the changes of its own customer's "
                  "records, of the resources that its other scopes let it read. Each record that "
                  "a load inserted is a change.",
       .errors = {
           {Code::invalid_cursor,
            "the cursor belongs to another customer, is damaged, or is behind the end of "
            "the feed because an older backup was restored"},
           {Code::insufficient_scope, "a client may not read one of the named resources"}}})};
}

}  // namespace comptroller::service
