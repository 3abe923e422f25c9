#include "store/idempotency.hpp"

namespace comptroller::store {

namespace {

using db::Value;

constexpr std::int64_t kept_for_us = std::int64_t{24} * 60 * 60 * 1'000'000;
constexpr std::int64_t max_deleted = 100;

}  // namespace

std::optional<KeptAnswer> find_answer(db::Connection& connection, const IdempotencyKey& key,
                                      Timestamp now) {
  db::Query query = connection.query(
      "SELECT fingerprint, answer FROM idempotency_keys WHERE customer = $customer"
      " AND operation = $operation AND idempotency_key = $key AND created_at > $expired");
  query.bind("$customer", key.customer)
      .bind("$operation", key.operation)
      .bind("$key", key.key)
      .bind("$expired", now.microseconds - kept_for_us);
  if (!query.step()) return std::nullopt;
  return KeptAnswer{std::string(query.column(0).bytes), std::string(query.column(1).bytes)};
}

void keep_answer(db::Connection& connection, const IdempotencyKey& key, const KeptAnswer& answer,
                 Timestamp now) {
  // An expired answer with this key may still be stored.
  const std::int64_t rows = connection.run(
      "INSERT INTO idempotency_keys"
      " (customer, operation, idempotency_key, fingerprint, answer, created_at)"
      " VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (customer, operation, idempotency_key) DO UPDATE SET"
      " fingerprint = excluded.fingerprint, answer = excluded.answer,"
      " created_at = excluded.created_at WHERE idempotency_keys.created_at <= ?",
      key.customer, key.operation, key.key, Value::blob(answer.fingerprint), answer.answer,
      now.microseconds, now.microseconds - kept_for_us);
  if (rows == 0) throw db::Conflict(Code::internal, "the key was used by another write");
}

bool delete_expired_answers(db::Connection& connection, Timestamp now) {
  std::string sql =
      "DELETE FROM idempotency_keys WHERE (customer, operation, idempotency_key) IN"
      " (SELECT customer, operation, idempotency_key FROM idempotency_keys"
      " WHERE created_at <= ? ORDER BY created_at LIMIT ?";
  sql += connection.locks_rows() ? " FOR UPDATE SKIP LOCKED)" : ")";
  return connection.run(sql, now.microseconds - kept_for_us, max_deleted) == max_deleted;
}

}  // namespace comptroller::store
