// Reading all records of a kind, for streams and exports, with the scopes, tenancy and filters of
// its list.
#pragma once

#include <functional>
#include <span>

#include "service/service.hpp"
#include "store/listing.hpp"

namespace comptroller::service {

struct Scan {
  // Makes the listing for Listing::scan; called once for each connection that reads.
  std::function<store::Listing(db::Connection&)> listing;
  json::Audience audience;
};

// An analysis reads what lists show. An export is to load to an equal store: it leaves out balances
// of addresses, which are a kind of their own, and implied identities that loading their controls
// brings back as they are.
enum class Purpose : std::uint8_t { analysis, reload };

// `kind` is a name such as "reward_addresses", `parameters` are the filters of its list. Throws
// invalid_request, insufficient_scope, customer_not_accessible.
Scan scan(Service& service, const Principal& principal, std::string_view kind,
          std::span<const Parameter> parameters, Purpose purpose);

}  // namespace comptroller::service
