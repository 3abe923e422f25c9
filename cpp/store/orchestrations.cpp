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

std::vector<db::Insertion> insert_many(Changes& changes,
                                       std::span<const NewOrchestration> orchestrations) {
  return insert_new_many<Orchestration>(
      changes, orchestrations.size(),
      [&](std::size_t row) -> const Orchestration& { return *orchestrations[row].orchestration; },
      [&](std::size_t row) { return orchestrations[row].content; }, "destination_profile_id",
      [&](std::size_t row, BoundValues& parameters) {
        return destination_profile(*orchestrations[row].orchestration, parameters);
      });
}

void update_orchestration(Changes& changes, const Stored<Orchestration>& before,
                          const Orchestration& after) {
  BoundValues parameters(changes.connection().symbols());
  update(changes, before, after,
         {{"destination_profile_id", destination_profile(after, parameters)}});
}

}  // namespace comptroller::store
