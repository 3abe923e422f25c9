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

// Makes listings by `make_listing`, restricted to the customers that the principal may see.
template <Record Request, class Make>
MakeListing of_customers(const Principal& principal, std::span<const Parameter> parameters,
                         Make make_listing) {
  const auto request = read_filters<Request>(parameters);
  const auto customer = listed_customer(principal, request.customer_id);
  return [request, customer, make_listing](db::Connection& connection) {
    return make_listing(connection, request, store::ownership(connection, customer));
  };
}

store::Listing identities_to_export(db::Connection& connection, const ListIdentities& request,
                                    store::Ownership ownership) {
  auto listing = store::make_listing<StoredIdentity>(connection, request, std::move(ownership));
  listing.filter({"implied <> 1", {}});  // store::Provenance::implied
  return listing;
}

template <Record R>
MakeListing rows_of(const Principal& principal, std::span<const Parameter> parameters,
                    Timestamp now, Purpose purpose) {
  const bool is_analysis = purpose == Purpose::analysis;
  if constexpr (std::same_as<R, StoredIdentity>) {
    return of_customers<ListIdentities>(
        principal, parameters,
        is_analysis ? &store::make_listing<StoredIdentity, ListIdentities> : &identities_to_export);
  } else if constexpr (std::same_as<R, Control>) {
    return of_customers<ListControls>(principal, parameters, &store::controls_listing);
  } else if constexpr (std::same_as<R, Orchestration>) {
    return of_customers<ListOrchestrations>(
        principal, parameters, &store::make_listing<Orchestration, ListOrchestrations>);
  } else if constexpr (std::same_as<R, PayoutGroup>) {
    return of_customers<ListPayoutGroups>(principal, parameters, &store::payout_groups_listing);
  } else if constexpr (std::same_as<R, RewardAddress>) {
    // All connections of a scan read the balances as of one time.
    return of_customers<ListRewardAddresses>(
        principal, parameters,
        [=](db::Connection& connection, const ListRewardAddresses& request,
            store::Ownership ownership) {
          return store::reward_addresses_listing(
              connection, request, is_analysis ? balance_moment(request, now) : std::nullopt,
              std::move(ownership));
        });
  } else if constexpr (std::same_as<R, Claim>) {
    return of_customers<ListClaims>(principal, parameters, &store::claims_listing);
  } else {
    return [request = read_filters<ListBalances>(parameters)](db::Connection& connection) {
      return store::make_listing<Balance>(connection, request, {});
    };
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
