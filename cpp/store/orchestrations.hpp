// Orchestrations (specification 2.2, 4.2).
#pragma once

#include "model/requests.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing orchestrations_listing(db::Connection& connection, const ListOrchestrations& request,
                               Ownership ownership);

// Inserts orchestrations in order, each unless its id is taken; gives of each whether it was
// inserted.
std::vector<bool> insert_orchestrations(db::Connection& connection,
                                        std::span<const Orchestration* const> orchestrations);
bool insert_orchestration(db::Connection& connection, const Orchestration& orchestration);
void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration);

}  // namespace comptroller::store
