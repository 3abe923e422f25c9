// Reading and writing the controls of one identity (specification 2.1). The column `covered_until`
// is maintained here: the latest end of a control and of the earlier ones of its identity, type and
// setter, so that what was in force at any time is read from one row for each type and setter.
#pragma once

#include "store/records.hpp"

namespace comptroller::store {

// The active controls of an identity in order of creation.
std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key);
// Those of several identities, in the order of their keys, by one statement.
std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  const std::vector<std::int64_t>& identity_keys);
// The active control of a type and setter.
std::optional<Control> active_control(db::Connection& connection, std::int64_t identity_key,
                                      ControlType type, SetBy set_by);

// The types of which a control was in force at a time, each once.
std::vector<ControlType> types_in_force(db::Connection& connection, std::int64_t identity_key,
                                        Timestamp at);

// Inserts a control unless its id is taken, or it and another of its type and setter are active;
// returns whether it was inserted.
bool insert_new_control(db::Connection& connection, const Control& control,
                        const Stored<StoredIdentity>& identity);
// The same for a control that nothing prevents.
void insert_control(db::Connection& connection, const Control& control,
                    const Stored<StoredIdentity>& identity);
// Replaces the control with this id; identity, type, setter and created_at must be the stored ones.
void update_control(db::Connection& connection, const Control& control);
void remove_control(db::Connection& connection, const Id& id);

}  // namespace comptroller::store
