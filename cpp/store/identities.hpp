// Identities and their controls (specification 2.1, 4.1).
#pragma once

#include "model/requests.hpp"
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
// Replaces the identity of a key.
void update_identity(db::Connection& connection, const StoredIdentityRow& identity);

// The controls of an identity, in order of creation; the active ones, or all.
std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key);
// Those that are active of several identities, in the order of their keys, by one statement.
std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  const std::vector<std::int64_t>& identity_keys);
std::vector<Control> all_controls(db::Connection& connection, std::int64_t identity_key);

void insert_control(db::Connection& connection, const Control& control,
                    const Stored<StoredIdentity>& identity);
// Replaces a control of the same identity, by its id.
void update_control(db::Connection& connection, const Control& control);
void remove_control(db::Connection& connection, const Id& id);

}  // namespace comptroller::store
