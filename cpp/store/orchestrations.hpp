// Orchestrations (specification 2.2, 4.2).
#pragma once

#include "model/requests.hpp"
#include "store/listing.hpp"
#include "store/records.hpp"

namespace comptroller::store {

Listing orchestrations_listing(db::Connection& connection, const ListOrchestrations& request,
                               Ownership ownership);

// Adds an orchestration, unless its id is taken; gives whether it was added.
bool insert_orchestration(db::Connection& connection, const Orchestration& orchestration);
void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration);

}  // namespace comptroller::store
