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

std::vector<db::Insertion> insert_many(db::Connection& connection,
                                       std::span<const Orchestration* const> orchestrations) {
  return insert_new_many<Orchestration>(
      connection, orchestrations.size(),
      [&](std::size_t row) -> const Orchestration& { return *orchestrations[row]; },
      "destination_profile_id",
      [&](std::size_t row, BoundValues& parameters) {
        return destination_profile(*orchestrations[row], parameters);
      });
}

void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration) {
  BoundValues parameters(connection.symbols());
  update(connection, key, orchestration,
         {{"destination_profile_id", destination_profile(orchestration, parameters)}});
}

}  // namespace comptroller::store
