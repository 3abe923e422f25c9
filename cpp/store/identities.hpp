// Identities and their controls (specification 2.1, 4.1).
#pragma once

#include "model/requests.hpp"
#include "store/controls.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing identities_listing(db::Connection& connection, const ListIdentities& request,
                           Ownership ownership);
Listing controls_listing(db::Connection& connection, const ListControls& request,
                         Ownership ownership);

// An identity that a control brought with it, before its own line came, is implied.
struct StoredIdentityRow : Stored<StoredIdentity> {
  bool is_implied = false;
};
std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id);

std::int64_t insert_identity(db::Connection& connection, const StoredIdentity& identity,
                             bool is_implied);
// Replaces the identity of a key; created_at must be the stored one.
void update_identity(db::Connection& connection, const StoredIdentityRow& identity);
// Replaces an implied identity by its own line.
void adopt_identity(db::Connection& connection, const StoredIdentityRow& identity);

}  // namespace comptroller::store
