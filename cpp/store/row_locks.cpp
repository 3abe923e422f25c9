#include "store/row_locks.hpp"

namespace comptroller::store {

namespace {

void run(db::Connection& connection, std::string_view sql, const db::Value& value) {
  connection.query(sql).bind(1, value).step();
}

}  // namespace

void share_group(db::Connection& connection, std::int64_t group) {
  if (!connection.locks_rows()) return;
  run(connection, "SELECT key FROM symbols WHERE key = ? FOR SHARE", db::Value::of(group));
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

}  // namespace comptroller::store
