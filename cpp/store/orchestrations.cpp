#include "store/orchestrations.hpp"

namespace comptroller::store {

namespace {

Value destination_profile(const Orchestration& orchestration, BoundValues& parameters) {
  const auto& destination = orchestration.destination;
  if (!destination || !destination->profile || !destination->profile->profile_id) {
    return Value::null();
  }
  return parameters.of(*destination->profile->profile_id);
}

}  // namespace

Listing orchestrations_listing(db::Connection& connection, const ListOrchestrations& request,
                               Ownership ownership) {
  return make_listing<Orchestration>(connection, request, std::move(ownership));
}

bool insert_orchestration(db::Connection& connection, const Orchestration& orchestration) {
  BoundValues parameters(connection.symbols());
  return insert_new(connection, orchestration,
                    {{"destination_profile_id", destination_profile(orchestration, parameters)}});
}

void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration) {
  BoundValues parameters(connection.symbols());
  update(connection, key, orchestration,
         {{"destination_profile_id", destination_profile(orchestration, parameters)}});
}

}  // namespace comptroller::store
