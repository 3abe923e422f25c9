// The locks of a write transaction that runs beside others (Connection::locks_rows); nothing
// otherwise. They are taken in one order: the group or the identity to which a record belongs, then
// the record.
#pragma once

#include <cstdint>
#include <span>

#include "db/database.hpp"
#include "model/records.hpp"

namespace comptroller::store {

// The end of a SELECT of rows on which the write decides: no other write changes them.
inline std::string_view for_update(const db::Connection& connection) {
  return connection.locks_rows() ? " FOR UPDATE" : "";
}

// While claims and addresses of a payout group (a symbol) are written, the group does not change.
// The group need not be stored.
void share_group(db::Connection& connection, std::int64_t group);
void share_groups(db::Connection& connection, std::span<const db::Value> groups);
// While a payout group is written, no claims and addresses of it are.
void lock_group(db::Connection& connection, std::int64_t group);

// Locks that to which the record with this id belongs, if the record is stored.
void lock_identity_of_control(db::Connection& connection, const db::Value& id);
void share_group_of_claim(db::Connection& connection, const db::Value& id);
void share_groups_of_claims(db::Connection& connection, std::span<const db::Value> ids);

// What a write reads a record for. One to which it only refers, such as the group of an address,
// does not change meanwhile, but other writes may refer to it, too.
enum class LockFor : std::uint8_t { change, reference };

// Called before a record is read.
template <Record R, LockFor use = LockFor::change>
void lock_before_read(db::Connection& connection, const db::Value& id) {
  static_assert(use == LockFor::change || std::same_as<R, PayoutGroup>);
  if (!connection.locks_rows()) return;
  if constexpr (std::same_as<R, Control>) lock_identity_of_control(connection, id);
  if constexpr (std::same_as<R, Claim>) share_group_of_claim(connection, id);
  if constexpr (use == LockFor::reference) {
    share_group(connection, id.integer);
  } else if constexpr (std::same_as<R, PayoutGroup>) {
    lock_group(connection, id.integer);
  }
}
// Called before records of these types are read together.
template <Record R>
  requires std::same_as<R, Claim> || std::same_as<R, Orchestration>
void lock_before_read(db::Connection& connection, std::span<const db::Value> ids) {
  if (!connection.locks_rows()) return;
  if constexpr (std::same_as<R, Claim>) share_groups_of_claims(connection, ids);
}

}  // namespace comptroller::store
