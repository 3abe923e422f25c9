#include "service/scans.hpp"

#include "model/shorten.hpp"
#include "service/authorisation.hpp"
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

store::Listing addresses(db::Connection& connection, const ListRewardAddresses& request,
                         store::Ownership ownership) {
  return store::reward_addresses_listing(connection, request, std::nullopt, std::move(ownership));
}

store::Listing addresses_with_balances(db::Connection& connection,
                                       const ListRewardAddresses& request,
                                       store::Ownership ownership) {
  const Timestamp at = request.balance_timestamp.value_or(latest_timestamp);
  return store::reward_addresses_listing(connection, request, at, std::move(ownership));
}

MakeListing of_addresses(std::span<const Parameter> parameters) {
  const auto request = read_filters<ListBalances>(parameters);
  return [request](db::Connection& connection) {
    return store::balances_listing(connection, request);
  };
}

}  // namespace

Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Balances balances) {
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
    scan.listing = of_customers<&store::identities_scan, ListIdentities>(principal, parameters);
  } else if (kind == "controls") {
    scan.listing = of_customers<&store::controls_listing, ListControls>(principal, parameters);
  } else if (kind == "orchestrations") {
    scan.listing =
        of_customers<&store::orchestrations_listing, ListOrchestrations>(principal, parameters);
  } else if (kind == "payout_groups") {
    scan.listing =
        of_customers<&store::payout_groups_listing, ListPayoutGroups>(principal, parameters);
  } else if (kind == "reward_addresses") {
    scan.listing =
        balances == Balances::shown
            ? of_customers<&addresses_with_balances, ListRewardAddresses>(principal, parameters)
            : of_customers<&addresses, ListRewardAddresses>(principal, parameters);
  } else if (kind == "claims") {
    scan.listing = of_customers<&store::claims_listing, ListClaims>(principal, parameters);
  } else {
    scan.listing = of_addresses(parameters);
  }
  return scan;
}

}  // namespace comptroller::service
