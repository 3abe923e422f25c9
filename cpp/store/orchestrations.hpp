// Orchestrations (specification 2.2, 4.2).
#pragma once

#include "model/records/orchestrations.hpp"
#include "store/records.hpp"

namespace comptroller::store {

// Inserts orchestrations in order, except those whose id is taken; returns the outcome of each.
std::vector<db::Insertion> insert_many(db::Connection& connection,
                                       std::span<const Orchestration* const> orchestrations);
void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration);

}  // namespace comptroller::store
