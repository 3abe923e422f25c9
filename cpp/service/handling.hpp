// What handlers share: records as a principal may see them, and pages of them.
#pragma once

#include "model/error.hpp"
#include "service/authorisation.hpp"
#include "service/canonical.hpp"
#include "service/handlers.hpp"
#include "service/ingestion.hpp"
#include "store/customers.hpp"
#include "store/records.hpp"

namespace comptroller::service {

// The refusal of an id that is unknown, or another customer's, which is answered alike.
inline Error not_found(std::string_view what, std::string_view id) {
  return {Code::not_found, "there is no " + std::string(what) + " " + std::string(id)};
}

// What a refusal calls a record.
template <Record R>
inline constexpr std::string_view noun;
template <>
inline constexpr std::string_view noun<Control> = "control";
template <>
inline constexpr std::string_view noun<Orchestration> = "orchestration";
template <>
inline constexpr std::string_view noun<PayoutGroup> = "payout group";
template <>
inline constexpr std::string_view noun<RewardAddress> = "reward address";
template <>
inline constexpr std::string_view noun<Claim> = "claim";

// The record with this id as the principal may see it; else not_found.
template <Record R>
store::Stored<R> require(Context& context, std::string_view id) {
  auto stored = store::find<R>(context.connection, id);
  if (!stored || !can_see(context.principal, customer_of(stored->record))) {
    throw not_found(noun<R>, id);
  }
  return *std::move(stored);
}

// Which list a cursor belongs to: the operation, whose rows, the filters and the order, with what
// is meant by those that are left out.
template <Record Request>
std::string describe_list(const Context& context, const Request& request) {
  Request filters = request;
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

// How a list is paged, worked out from its request.
struct PageRequest {
  std::string list;
  Order order = Order::descending;
  std::int64_t limit = 0;
  std::optional<store::Position> position;

  // One row more than the page has, which shows whether another page follows.
  store::PageQuery query() const { return {order, position, limit + 1}; }
};

template <Record Request>
PageRequest page_request(const Context& context, const Request& request) {
  PageRequest page;
  page.list = describe_list(context, request);
  page.order = request.order.value_or(Order::descending);
  page.limit = request.limit.value_or(PageLimit{}).value;
  if (request.page_cursor) {
    page.position = open_cursor(context.secret, page.list, request.page_cursor->value);
  }
  return page;
}

// Ends an answer whose items are written.
inline void append_next_cursor(std::string& answer, const Context& context, const PageRequest& page,
                               const std::optional<store::Position>& next) {
  answer += ",\"next_page_cursor\":\"";
  if (next) answer += seal_cursor(context.secret, page.list, *next);
  answer += "\"}";
}

// Room for an item of most pages, so that an answer seldom has to move while it grows.
inline constexpr std::size_t usual_item_bytes = 800;

// The page of R that a listing gives.
template <Record R, Record Request>
PageOf<R> answer_page(Context& context, const Request& request, const store::Listing& listing) {
  const PageRequest page = page_request(context, request);
  store::PageRows rows = listing.run(page.query());
  std::string answer;
  answer.reserve(static_cast<std::size_t>(page.limit) * usual_item_bytes);
  answer += '{';
  const auto next = store::append_items<R>(answer, rows, context.connection.symbols(),
                                           audience_of(context.principal), page.limit);
  append_next_cursor(answer, context, page, next);
  return {std::move(answer)};
}

// The moment as of which a list of addresses shows their balances, if it shows them.
inline std::optional<Timestamp> balance_moment(const ListRewardAddresses& request, Timestamp now) {
  if (!request.include_balance.value_or(false)) return std::nullopt;
  return request.balance_timestamp.value_or(now);
}

template <Record Request>
store::Ownership ownership_of(Context& context, const Request& request) {
  return store::ownership(context.connection,
                          listed_customer(context.principal, request.customer_id));
}

// The handlers of kinds that are shown as they are kept.
template <Record R>
R get(Context& context, const ById& request) {
  return require<R>(context, request.id.value).record;
}

template <Record R, Record Request, auto make_listing = &store::make_listing<R, Request>>
PageOf<R> list(Context& context, const Request& request) {
  return answer_page<R>(context, request,
                        make_listing(context.connection, request, ownership_of(context, request)));
}

// One record as a load would take it.
template <Record R>
R put(Context& context, const R& request) {
  R line = request;
  Ingestion ingestion(context.connection, context.principal, std::nullopt, context.now,
                      context.environment.make_id);
  ingestion.take(line);
  ingestion.finish();
  return require<R>(context, request.id.value).record;
}

}  // namespace comptroller::service
