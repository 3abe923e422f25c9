// Reward claims (specification 2.5, 4.5).
#pragma once

#include "model/records/rewards.hpp"
#include "store/lists.hpp"
#include "store/records.hpp"

namespace comptroller::store {

struct NewClaim {
  const Claim* claim = nullptr;
  std::optional<std::int64_t> jurisdiction;  // the current jurisdiction of its group, a symbol
  const journal::Hash* content = nullptr;    // its content_hash, if it is known
};
// Inserts claims in order, except those whose id is taken; returns the outcome of each.
std::vector<db::Insertion> insert_many(Changes& changes, std::span<const NewClaim> claims);
void update_claim(Changes& changes, const Stored<Claim>& before, const Claim& after,
                  std::optional<std::int64_t> jurisdiction);

}  // namespace comptroller::store
