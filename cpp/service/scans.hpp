// Reading everything of a kind: what streams and exports go through, with the same scopes, tenancy
// and filters as lists.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "service/service.hpp"
#include "store/listing.hpp"

namespace comptroller::service {

struct Scan {
  // The rows, for Listing::scan; each reading connection makes its own.
  std::function<store::Listing(db::Connection&)> listing;
  json::Audience audience;
};

// Whether reward addresses are read with their balances.
enum class Balances : std::uint8_t { hidden, shown };

// `kind` is a noun such as "reward_addresses"; `parameters` are its list's filters. Refuses:
// invalid_request, insufficient_scope, customer_not_accessible.
Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Balances balances);

}  // namespace comptroller::service
