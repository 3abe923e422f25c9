#include "store/row_locks.hpp"

namespace comptroller::store {

namespace {

void run(db::Connection& connection, std::string_view sql, const db::Value& value) {
  connection.query(sql).bind(1, value).step();
}

// All locks of a list are taken in order, so that two writes do not wait for each other.
void run_list(db::Connection& connection, std::string_view sql, std::span<const db::Value> values) {
  if (connection.locks_rows() && !values.empty()) connection.query_list(sql, values).step();
}

}  // namespace

void share_group(db::Connection& connection, std::int64_t group) {
  if (!connection.locks_rows()) return;
  run(connection, "SELECT key FROM symbols WHERE key = ? FOR SHARE", db::Value::of(group));
}

void share_groups(db::Connection& connection, std::span<const db::Value> groups) {
  run_list(connection, "SELECT key FROM symbols WHERE key = ANY(?) ORDER BY key FOR SHARE", groups);
}

void lock_group(db::Connection& connection, std::int64_t group) {
  if (!connection.locks_rows()) return;
  run(connection, "SELECT key FROM symbols WHERE key = ? FOR UPDATE", db::Value::of(group));
}

void lock_identity_of_control(db::Connection& connection, const db::Value& id) {
  run(connection,
      "SELECT key FROM identities WHERE key = (SELECT identity_key FROM controls WHERE id = ?)"
      " FOR UPDATE",
      id);
}

void share_group_of_claim(db::Connection& connection, const db::Value& id) {
  run(connection,
      "SELECT key FROM symbols WHERE key = (SELECT payout_group_id FROM claims WHERE id = ?)"
      " FOR SHARE",
      id);
}

void share_groups_of_claims(db::Connection& connection, std::span<const db::Value> ids) {
  run_list(connection,
           "SELECT key FROM symbols WHERE key IN"
           " (SELECT payout_group_id FROM claims WHERE id = ANY(?)) ORDER BY key FOR SHARE",
           ids);
}

}  // namespace comptroller::store
