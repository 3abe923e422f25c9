// Answers kept for a day, so that a write that is sent again is not done again.
#pragma once

#include <optional>
#include <string>

#include "db/database.hpp"
#include "model/timestamp.hpp"

namespace comptroller::store {

struct IdempotencyKey {
  std::string customer;  // empty: the operator
  std::string operation;
  std::string key;
};

struct KeptAnswer {
  std::string fingerprint;  // of the request that was answered
  std::string answer;
};

std::optional<KeptAnswer> find_answer(db::Connection& connection, const IdempotencyKey& key,
                                      Timestamp now);
// Keeps an answer; forgets those of more than a day ago.
void keep_answer(db::Connection& connection, const IdempotencyKey& key, const KeptAnswer& answer,
                 Timestamp now);

}  // namespace comptroller::store
