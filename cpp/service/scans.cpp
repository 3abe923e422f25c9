#include "service/scans.hpp"

#include "model/shorten.hpp"
#include "service/authorisation.hpp"
#include "service/handling.hpp"
#include "service/operations.hpp"
#include "store/claims.hpp"
#include "store/customers.hpp"
#include "store/identities.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::service {

namespace {

// The filters of a list: its parameters without those that page it.
template <Record Request>
Request read_filters(std::span<const Parameter> parameters) {
  std::vector<std::string_view> filters;
  for (const std::string_view name : field_names<Request>) {
    if (std::ranges::find(field_names<Paging>, name) == field_names<Paging>.end()) {
      filters.push_back(name);
    }
  }
  Request request{};
  read_parameters<Request>(parameters, request, filters);
  return request;
}

using MakeListing = std::function<store::Listing(db::Connection&)>;

template <auto make_listing, Record Request>
MakeListing of_customers(const Principal& principal, std::span<const Parameter> parameters) {
  const auto request = read_filters<Request>(parameters);
  const auto customer = listed_customer(principal, request.customer_id);
  return [request, customer](db::Connection& connection) {
    return make_listing(connection, request, store::ownership(connection, customer));
  };
}

store::Listing told_identities(db::Connection& connection, const ListIdentities& request,
                               store::Ownership ownership) {
  store::Listing listing = store::identities_scan(connection, request, std::move(ownership));
  listing.filter({"NOT (implied AND metadata IS NULL)", {}});
  return listing;
}

// All readers of a scan are shown the balances of one moment.
MakeListing of_reward_addresses(const Principal& principal, std::span<const Parameter> parameters,
                                Timestamp now, Purpose purpose) {
  const auto request = read_filters<ListRewardAddresses>(parameters);
  const auto customer = listed_customer(principal, request.customer_id);
  const auto balance_at =
      purpose == Purpose::analysis ? balance_moment(request, now) : std::nullopt;
  return [request, customer, balance_at](db::Connection& connection) {
    return store::reward_addresses_listing(connection, request, balance_at,
                                           store::ownership(connection, customer));
  };
}

MakeListing of_addresses(std::span<const Parameter> parameters) {
  const auto request = read_filters<ListBalances>(parameters);
  return [request](db::Connection& connection) {
    return store::balances_listing(connection, request);
  };
}

}  // namespace

Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose) {
  service.check_usable();
  const Operation* list = find_operation(std::string(kind) + ".list");
  if (list == nullptr) {
    constexpr std::array<std::string_view, 7> kinds{
        "identities",       "controls", "orchestrations", "payout_groups",
        "reward_addresses", "claims",   "balances"};
    throw Error::invalid("kind", "\"" + shorten(kind) + "\" " + unknown_name_message(kind, kinds));
  }
  require_operation_scope(principal, *list);
  Scan scan{{}, audience_of(principal)};
  if (kind == "identities") {
    scan.listing =
        purpose == Purpose::analysis
            ? of_customers<&store::identities_scan, ListIdentities>(principal, parameters)
            : of_customers<&told_identities, ListIdentities>(principal, parameters);
  } else if (kind == "controls") {
    scan.listing = of_customers<&store::controls_listing, ListControls>(principal, parameters);
  } else if (kind == "orchestrations") {
    scan.listing =
        of_customers<&store::orchestrations_listing, ListOrchestrations>(principal, parameters);
  } else if (kind == "payout_groups") {
    scan.listing =
        of_customers<&store::payout_groups_listing, ListPayoutGroups>(principal, parameters);
  } else if (kind == "reward_addresses") {
    scan.listing = of_reward_addresses(principal, parameters, service.environment().now(), purpose);
  } else if (kind == "claims") {
    scan.listing = of_customers<&store::claims_listing, ListClaims>(principal, parameters);
  } else {
    scan.listing = of_addresses(parameters);
  }
  return scan;
}

}  // namespace comptroller::service
