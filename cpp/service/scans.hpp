// Reading everything of a kind: what streams and exports go through, with the same scopes, tenancy
// and filters as lists.
#pragma once

#include <functional>
#include <span>

#include "service/service.hpp"
#include "store/listing.hpp"

namespace comptroller::service {

struct Scan {
  // The rows, for Listing::scan; each reading connection makes its own.
  std::function<store::Listing(db::Connection&)> listing;
  Audience audience;
};

// Who reads: an analysis, which is shown what lists show, or an export that is to load back to an
// equal store. The latter has no balances of addresses, which are kept elsewhere, and no identities
// of which only a control tells, which the control brings along again.
enum class Purpose : std::uint8_t { analysis, reload };

// `kind` is one such as "reward_addresses"; `parameters` are its list's filters. Refuses:
// invalid_request, insufficient_scope, customer_not_accessible.
Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose);

}  // namespace comptroller::service
