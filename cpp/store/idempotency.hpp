// Answers of writes, stored for a day, so that a retried write is executed once.
#pragma once

#include <compare>
#include <optional>
#include <string>

#include "db/database.hpp"
#include "model/timestamp.hpp"

namespace comptroller::store {

struct IdempotencyKey {
  std::string customer;  // empty for the operator
  std::string operation;
  std::string key;

  friend auto operator<=>(const IdempotencyKey&, const IdempotencyKey&) = default;
};

struct KeptAnswer {
  std::string fingerprint;  // of the request that was answered
  std::string answer;
};

std::optional<KeptAnswer> find_answer(db::Connection& connection, const IdempotencyKey& key,
                                      Timestamp now);
void keep_answer(db::Connection& connection, const IdempotencyKey& key, const KeptAnswer& answer,
                 Timestamp now);
// Deletes at most 100 answers older than a day; returns whether more may be left.
bool delete_expired_answers(db::Connection& connection, Timestamp now);

}  // namespace comptroller::store
