#include "service/scans.hpp"

#include "model/lists.hpp"
#include "service/completion.hpp"
#include "service/handlers.hpp"
#include "service/operations.hpp"
#include "store/tables.hpp"

namespace comptroller::service {

namespace {

// The filters of a list: its parameters without those that page it.
template <Record Request>
Request read_filters(std::span<const Parameter> parameters, const Principal& principal) {
  std::vector<std::string_view> filters;
  std::ranges::copy_if(field_names<Request>, std::back_inserter(filters), [](auto name) {
    return std::ranges::find(field_names<Paging>, name) == field_names<Paging>.end();
  });
  Request request{};
  read_parameters<Request>(parameters, request, filters);
  complete(request, principal);
  return request;
}

}  // namespace

Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose) {
  service.check_usable();
  Scan scan{{}, audience_of(principal)};
  const auto prepare = [&]<Record R, Record Request>() {
    require_scope(principal, find_operation(std::string(R::table) + ".list")->scope, false);
    // The same for all connections of the scan.
    const store::ListUse use{service.environment().now(), purpose};
    const auto request = read_filters<Request>(parameters, principal);
    const std::optional<std::string> customer = shown_customer(principal, request);
    scan.listing = [=](db::Connection& connection) {
      return listing_of(connection, request, customer, use);
    };
  };
  store::visit_table(kind, [&]<Record R>() {
    for_each_list([&]<Record Listed, Record Request>() {
      if constexpr (std::same_as<R, Listed>) prepare.template operator()<R, Request>();
    });
  });
  return scan;
}

}  // namespace comptroller::service
