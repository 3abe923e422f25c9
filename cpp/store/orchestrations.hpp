// Orchestrations (specification 2.2, 4.2).
#pragma once

#include "model/records/orchestrations.hpp"
#include "store/records.hpp"

namespace comptroller::store {

struct NewOrchestration {
  const Orchestration* orchestration = nullptr;
  const journal::Hash* content = nullptr;  // its content_hash, if it is known
};
// Inserts orchestrations in order, except those whose id is taken; returns the outcome of each.
std::vector<db::Insertion> insert_many(Changes& changes,
                                       std::span<const NewOrchestration> orchestrations);
void update_orchestration(Changes& changes, const Stored<Orchestration>& before,
                          const Orchestration& after);

}  // namespace comptroller::store
