// Identities and their controls (specification 2.1, 4.1).
#pragma once

#include "model/requests.hpp"
#include "store/controls.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing controls_listing(db::Connection& connection, const ListControls& request,
                         Ownership ownership);

// What the store knows an identity by. The values are stored.
enum class Provenance : std::uint8_t {
  own,      // its own line, or identities.put
  implied,  // the first of its controls alone, which an export of controls brings back
  changed,  // implied, and changed since; its own line is still to come
};

struct StoredIdentityRow : Stored<StoredIdentity> {
  Provenance provenance = Provenance::own;
};
std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id);

std::int64_t insert_identity(db::Connection& connection, const StoredIdentity& identity,
                             Provenance provenance = Provenance::own);
// Replaces the identity of a key; created_at must be the stored one.
void update_identity(db::Connection& connection, const StoredIdentityRow& identity);
// Replaces an implied identity by its own line.
void adopt_identity(db::Connection& connection, const StoredIdentityRow& identity);

}  // namespace comptroller::store
