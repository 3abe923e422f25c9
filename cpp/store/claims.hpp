// Reward claims (specification 2.5, 4.5).
#pragma once

#include "model/requests.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing claims_listing(db::Connection& connection, const ListClaims& request, Ownership ownership);

// Inserts a claim with the present jurisdiction of its group (a symbol), unless its id is taken;
// gives whether it was inserted.
bool insert_claim(db::Connection& connection, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction);
void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction);

}  // namespace comptroller::store
