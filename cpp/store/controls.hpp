// Reads and writes the controls of one identity (specification 2.1), and maintains the column
// `covered_until`: the latest end of a control and of the earlier controls of its identity, type
// and setter. With it, one row for each type and setter shows whether a control was active at a
// given time.
#pragma once

#include "model/records/identities.hpp"
#include "store/records.hpp"
#include "store/sql.hpp"

namespace comptroller::store {

// Returns the active controls of an identity in order of creation.
std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key);
// Returns those of each of several identities. `read` are these and perhaps others, as selected by
// select_active_controls, or null.
std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  std::span<const std::int64_t> identity_keys,
                                                  db::Query* read = nullptr);
// Returns a statement that selects those of the identities with these keys, which is a SELECT.
Sql select_active_controls(const Sql& keys);
std::optional<Control> active_control(db::Connection& connection, std::int64_t identity_key,
                                      ControlType type, SetBy set_by);

// Returns the distinct types of the controls active at a time.
std::vector<ControlType> types_in_force(db::Connection& connection, std::int64_t identity_key,
                                        Timestamp at);

// Inserts a control unless its id is taken, or it is active and another active control has its type
// and setter. Returns whether it was inserted.
bool insert_new_control(Changes& changes, const Control& control,
                        const Stored<StoredIdentity>& identity);
// Inserts a control; throws internal if a control with its id, or an active one of its type and
// setter, exists.
void insert_control(Changes& changes, const Control& control,
                    const Stored<StoredIdentity>& identity);
// Replaces a control. Identity, type, setter and created_at must not change.
void update_control(Changes& changes, const Stored<Control>& before, const Control& after);
// Removes a control, and inserts another one of the same identity, type and setter.
void exchange_control(Changes& changes, const Id& removed, const Control& control,
                      const Stored<StoredIdentity>& identity);

}  // namespace comptroller::store
