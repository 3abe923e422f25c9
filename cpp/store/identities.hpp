// Identities and their controls (specification 2.1, 4.1).
#pragma once

#include "model/records/identities.hpp"
#include "store/controls.hpp"
#include "store/lists.hpp"
#include "store/provenance.hpp"
#include "store/records.hpp"

namespace comptroller::store {

struct StoredIdentityRow : Stored<StoredIdentity> {
  Provenance provenance = Provenance::own;
};
std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id);
// Returns the identity if it is the customer's; see store/client_lookups.hpp.
std::optional<StoredIdentityRow> find_own_identity(db::Connection& connection, std::string_view id,
                                                   std::string_view customer);

std::int64_t insert_identity(Changes& changes, const StoredIdentity& identity,
                             Provenance provenance = Provenance::own);
// Replaces an identity; created_at must not change.
void update_identity(Changes& changes, const StoredIdentityRow& before,
                     const StoredIdentityRow& after);
// Replaces an implied identity with its own line.
void adopt_identity(Changes& changes, const StoredIdentityRow& before,
                    const StoredIdentityRow& after);

}  // namespace comptroller::store
