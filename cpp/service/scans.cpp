#include "service/scans.hpp"

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

template <Record R>
MakeListing rows_of(const Principal& principal, std::span<const Parameter> parameters,
                    Timestamp now, Purpose purpose) {
  if constexpr (std::same_as<R, StoredIdentity>) {
    return purpose == Purpose::analysis
               ? of_customers<&store::identities_scan, ListIdentities>(principal, parameters)
               : of_customers<&told_identities, ListIdentities>(principal, parameters);
  } else if constexpr (std::same_as<R, Control>) {
    return of_customers<&store::controls_listing, ListControls>(principal, parameters);
  } else if constexpr (std::same_as<R, Orchestration>) {
    return of_customers<&store::orchestrations_listing, ListOrchestrations>(principal, parameters);
  } else if constexpr (std::same_as<R, PayoutGroup>) {
    return of_customers<&store::payout_groups_listing, ListPayoutGroups>(principal, parameters);
  } else if constexpr (std::same_as<R, RewardAddress>) {
    return of_reward_addresses(principal, parameters, now, purpose);
  } else if constexpr (std::same_as<R, Claim>) {
    return of_customers<&store::claims_listing, ListClaims>(principal, parameters);
  } else {
    return of_addresses(parameters);
  }
}

}  // namespace

Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose) {
  service.check_usable();
  Scan scan{{}, audience_of(principal)};
  store::visit_table(kind, [&]<Record R>() {
    require_operation_scope(principal, *find_operation(std::string(R::table) + ".list"));
    scan.listing = rows_of<R>(principal, parameters, service.environment().now(), purpose);
  });
  return scan;
}

}  // namespace comptroller::service
