// The listing of each list: its declared filters, and what a resource adds.
#pragma once

#include "store/listing.hpp"

namespace comptroller {
struct ListClaims;
struct ListControls;
struct ListIdentities;
struct ListRewardAddresses;
}  // namespace comptroller

namespace comptroller::store {

// An analysis reads the rows of a list. An export reads rows from which a load makes an equal
// store. It omits the balances of addresses, which are exported as their own kind, and implied
// identities, which the load of their controls creates again.
enum class Purpose : std::uint8_t { analysis, exporting };

struct ListUse {
  Timestamp now;
  Purpose purpose = Purpose::analysis;
};

// The request is complete, and its addresses are in their stored form.
template <Record Request>
Listing listing_for(db::Connection& connection, const Request& request, Ownership ownership,
                    const ListUse& /*use*/) {
  return make_listing<typename Request::Listed>(connection, request, std::move(ownership));
}
Listing listing_for(db::Connection& connection, const ListIdentities& request, Ownership ownership,
                    const ListUse& use);
Listing listing_for(db::Connection& connection, const ListControls& request, Ownership ownership,
                    const ListUse& use);
// Shows the balances of addresses, as of `use.now` unless the request names another time.
Listing listing_for(db::Connection& connection, const ListRewardAddresses& request,
                    Ownership ownership, const ListUse& use);
Listing listing_for(db::Connection& connection, const ListClaims& request, Ownership ownership,
                    const ListUse& use);

}  // namespace comptroller::store
