// Reads all records of a kind, for streams and exports, with the scopes, tenancy and filters of the
// list of the kind.
#pragma once

#include <functional>
#include <span>

#include "service/service.hpp"
#include "store/listing.hpp"

namespace comptroller::service {

struct Scan {
  // Makes the listing for Listing::scan. Each connection that reads calls it once.
  std::function<store::Listing(db::Connection&)> listing;
  Audience audience;
};

// An analysis reads the rows of a list. A reload exports rows from which a load makes an equal
// store. It omits the balances of addresses, which are a kind of their own, and implied identities,
// which the load of their controls creates again.
enum class Purpose : std::uint8_t { analysis, reload };

// `kind` is a name such as "reward_addresses"; `parameters` are the filters of its list. Throws
// invalid_request, insufficient_scope, customer_not_accessible.
Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose);

}  // namespace comptroller::service
