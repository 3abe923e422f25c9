// The handlers of operations. They run after authorisation, with a parsed request.
#pragma once

#include "model/error.hpp"
#include "service/authorisation.hpp"
#include "service/canonical.hpp"
#include "service/ingestion.hpp"
#include "service/scans.hpp"
#include "store/claims.hpp"
#include "store/client_lookups.hpp"
#include "store/customers.hpp"
#include "store/identities.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::service {

// The context of a handler. A read sees one snapshot; a write runs in a transaction.
struct Context {
  db::Connection& connection;
  const Principal& principal;
  const Environment& environment;
  const Secret& secret;
  BackgroundWork& background;
  std::string_view operation;
  Timestamp now;
};

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
template <Record R>
store::Stored<R> require(Context& context, std::string_view id) {
  const auto& customer = context.principal.customer;
  auto stored = customer ? store::find_own<R>(context.connection, id, *customer)
                         : store::find<R>(context.connection, id);
  if (!stored) throw not_found(R::singular, id);
  return *std::move(stored);
}

// Returns the customer whose rows a list shows, nullopt for all; see listed_customer.
template <Record Request>
std::optional<std::string> shown_customer(const Principal& principal, const Request& request) {
  if constexpr (std::derived_from<Request, OfCustomer>) {
    return listed_customer(principal, request.customer_id);
  } else {
    return std::nullopt;
  }
}

// The rows of a list of R, for its pages and scans. Balances are as of `now` unless the request
// names another time.
template <Record R, Record Request>
store::Listing listing_of(db::Connection& connection, Request request,
                          const std::optional<std::string>& customer, Timestamp now,
                          Purpose purpose) {
  canonicalise_addresses(request);
  store::Ownership ownership;
  if constexpr (std::derived_from<Request, OfCustomer>) {
    ownership = store::ownership(connection, customer);
  }
  if constexpr (std::same_as<R, Control>) {
    return store::controls_listing(connection, request, std::move(ownership));
  } else if constexpr (std::same_as<R, Claim>) {
    return store::claims_listing(connection, request, std::move(ownership));
  } else if constexpr (std::same_as<R, RewardAddress>) {
    std::optional<Timestamp> balance_at;
    if (purpose == Purpose::analysis && request.include_balance.value_or(false)) {
      balance_at = request.balance_timestamp.value_or(now);
    }
    return store::reward_addresses_listing(connection, request, balance_at, std::move(ownership));
  } else {
    auto listing = store::make_listing<R>(connection, request, std::move(ownership));
    if (std::same_as<R, StoredIdentity> && purpose == Purpose::reload) {
      listing.filter({"implied <> 1", {}});  // Provenance::implied
    }
    return listing;
  }
}

// Identifies the list that a cursor belongs to: operation, customer, filters with their defaults,
// and order.
template <Record Request>
std::string describe_list(const Context& context, Request filters) {
  filters.limit.reset();
  filters.page_cursor.reset();
  if (!filters.order) filters.order = Order::descending;
  if constexpr (std::same_as<Request, ListControls>) {
    if (!filters.include_deleted) filters.include_deleted = false;
  } else if constexpr (std::same_as<Request, ListRewardAddresses>) {
    if (!filters.include_balance) filters.include_balance = false;
  }
  std::string list(context.operation);
  list += '\n' + context.principal.customer.value_or("") + '\n';
  list += canonical_text(std::move(filters), context.principal);
  return list;
}

// The bytes reserved for each item, so that a growing answer is rarely reallocated.
inline constexpr std::size_t usual_item_bytes = 800;

// Answers a page. `append(answer, rows)` appends its rows as the member "items".
template <Record R, Record Request, class AppendItems>
std::string answer_page(Context& context, const Request& request, const AppendItems& append) {
  const std::string list = describe_list(context, request);
  const std::int64_t limit = request.limit.value_or(PageLimit{}).value;
  store::PageQuery page{request.order.value_or(Order::descending), std::nullopt, limit};
  if (request.page_cursor) {
    page.position = open_cursor(context.secret, list, request.page_cursor->value);
  }
  const store::Listing listing =
      listing_of<R>(context.connection, request, shown_customer(context.principal, request),
                    context.now, Purpose::analysis);
  store::PageRows rows = listing.run(page);
  std::string answer;
  answer.reserve(static_cast<std::size_t>(limit) * usual_item_bytes);
  answer += '{';
  append(answer, rows);
  answer += ",\"next_page_cursor\":\"";
  if (const auto& next = rows.next_page()) answer += seal_cursor(context.secret, list, *next);
  answer += "\"}";
  return answer;
}

// The handlers of records that are shown as stored.
template <Record R>
R get(Context& context, const ById& request) {
  return require<R>(context, request.id.value).record;
}

template <Record R, Record Request>
PageOf<R> list(Context& context, const Request& request) {
  const auto append = [&](std::string& answer, store::PageRows& rows) {
    store::append_items<R>(answer, rows, context.connection.symbols(),
                           audience_of(context.principal));
  };
  return {answer_page<R>(context, request, append)};
}

// Stores one record with the rules of a load.
template <Record R>
void ingest(Context& context, R line) {
  Ingestion ingestion(context.connection, context.principal, std::nullopt, context.now,
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
