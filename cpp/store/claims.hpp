// Reward claims (specification 2.5, 4.5).
#pragma once

#include "model/records/rewards.hpp"
#include "store/lists.hpp"
#include "store/records.hpp"

namespace comptroller::store {

struct NewClaim {
  const Claim* claim = nullptr;
  std::optional<std::int64_t> jurisdiction;  // the current jurisdiction of its group, a symbol
};
// Inserts claims in order, except those whose id is taken; returns the outcome of each.
std::vector<db::Insertion> insert_many(db::Connection& connection,
                                       std::span<const NewClaim> claims);
void update_claim(db::Connection& connection, std::int64_t key, const Claim& claim,
                  std::optional<std::int64_t> jurisdiction);

}  // namespace comptroller::store
