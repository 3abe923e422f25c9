// The handlers of operations. They run after authorisation, with a parsed request.
#pragma once

#include "model/error.hpp"
#include "model/requests.hpp"
#include "service/authorisation.hpp"
#include "service/call.hpp"
#include "service/canonical.hpp"
#include "service/ingestion.hpp"
#include "store/client_lookups.hpp"
#include "store/customers.hpp"
#include "store/group_facts.hpp"
#include "store/identities.hpp"
#include "store/lists.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::service {

// A list's answer as JSON: {"items": [...], "next_page_cursor": "..."}, the items being R.
template <Record R>
struct PageOf {
  using Item = R;
  std::string json;
};

// The error for an id that is unknown or belongs to another customer; both have the same message.
inline Error not_found(std::string_view what, std::string_view id) {
  return {Code::not_found, "there is no " + std::string(what) + " " + std::string(id)};
}

// Returns the record with this id; throws not_found if the principal may not see it.
template <Record R, store::LockFor use = store::LockFor::change>
store::Stored<R> require(Context& context, std::string_view id) {
  const auto& customer = context.principal.customer;
  auto stored = customer ? store::find_own<R, use>(context.connection, id, *customer)
                         : store::find<R, use>(context.connection, id);
  if (!stored) throw not_found(R::singular, id);
  return *std::move(stored);
}

// Returns the customer whose rows a list shows, nullopt for all; see listed_customer.
template <Record Request>
std::optional<std::string> shown_customer(const Principal& principal, const Request& request) {
  if constexpr (std::derived_from<Request, ListedOwner>) {
    return listed_customer(principal, request.customer_id);
  } else {
    return std::nullopt;
  }
}

// The rows of a list, for its pages and scans.
template <Record Request>
store::Listing listing_of(db::Connection& connection, const Request& request,
                          const std::optional<std::string>& customer, const store::ListUse& use) {
  store::Ownership ownership;
  if constexpr (std::derived_from<Request, ListedOwner>) {
    ownership = store::ownership(connection, customer);
  }
  return store::listing_for(connection, request, std::move(ownership), use);
}

// Identifies the list that a cursor belongs to: operation, customer, filters and order.
template <Record Request>
std::string describe_list(const Context& context, Request filters) {
  filters.limit.reset();
  filters.page_cursor.reset();
  std::string list(context.operation);
  list += '\n' + context.principal.customer.value_or("") + '\n';
  list += canonical_text(std::move(filters));
  return list;
}

// The bytes reserved for each item, so that a growing answer is rarely reallocated.
inline constexpr std::size_t usual_item_bytes = 800;

// Answers a page. `append(answer, rows)` appends its rows as the member "items".
template <Record Request, class AppendItems>
std::string answer_page(Context& context, const Request& request, const AppendItems& append) {
  const std::int64_t limit = request.limit.value_or(PageLimit{}).value;
  store::PageQuery page{request.order.value_or(Order::desc), std::nullopt, limit};
  if (request.page_cursor && !request.page_cursor->value.empty()) {
    page.position = open_cursor(context.cursor_keys, describe_list(context, request),
                                request.page_cursor->value);
  }
  const store::Listing listing =
      listing_of(context.connection, request, shown_customer(context.principal, request),
                 {.now = context.now});
  store::PageRows rows = listing.run(page);
  std::string answer;
  answer.reserve(static_cast<std::size_t>(limit) * usual_item_bytes);
  answer += '{';
  append(answer, rows);
  answer += ",\"next_page_cursor\":\"";
  if (const auto& next = rows.next_page()) {
    answer += seal_cursor(context.cursor_keys, describe_list(context, request), *next);
  }
  answer += "\"}";
  return answer;
}

// The handlers of records that are shown as stored.
template <Record R>
R get(Context& context, const ById& request) {
  return require<R>(context, request.id.value).record;
}

template <Record Request, class R = typename Request::Listed>
PageOf<R> list(Context& context, const Request& request) {
  const auto append = [&](std::string& answer, store::PageRows& rows) {
    store::append_items<R>(answer, rows, context.page_bytes, context.connection.symbols(),
                           audience_of(context.principal));
  };
  return {answer_page(context, request, append)};
}

// Stores one record with the rules of a load.
template <Record R>
void ingest(Context& context, R line) {
  Ingestion ingestion(context.changes(), context.principal, std::nullopt, context.now,
                      context.environment.make_id);
  ingestion.take(line);
  ingestion.finish();
}

template <Record R>
R put(Context& context, const R& request) {
  ingest(context, request);
  return require<R>(context, request.id.value).record;
}

}  // namespace comptroller::service
