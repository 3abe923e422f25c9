// Reads all records of a kind, for streams and exports, with the scopes, tenancy and filters of the
// list of the kind.
#pragma once

#include <functional>
#include <span>

#include "service/service.hpp"
#include "store/lists.hpp"

namespace comptroller::service {

struct Scan {
  // Makes the listing for Listing::scan. Each connection that reads calls it once.
  std::function<store::Listing(db::Connection&)> listing;
  Audience audience;
};

using store::Purpose;

// `kind` is a name such as "reward_addresses"; `parameters` are the filters of its list. Throws
// invalid_request, insufficient_scope, customer_not_accessible.
Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose);

}  // namespace comptroller::service
