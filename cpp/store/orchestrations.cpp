#include "store/orchestrations.hpp"

#include <array>

namespace comptroller::store {

namespace {

Value destination_profile(const Orchestration& orchestration, Parameters& parameters) {
  const auto& destination = orchestration.destination;
  if (!destination || !destination->profile || !destination->profile->profile_id) {
    return Value::null();
  }
  return parameters.of(*destination->profile->profile_id);
}

// A profile is met in two columns; a row that has one of the profiles in both counts for the first.
void choose_profiles(Listing& listing, const std::vector<Id>& profiles) {
  std::vector<Condition> conditions;
  std::vector<Value> values;
  std::string list;
  for (const Id& profile : profiles) {
    conditions.push_back(listing.equals<Id>("profile_id", profile));
    values.push_back(conditions.back().values.front());
    list += list.empty() ? "?" : ", ?";
  }
  for (const Value& profile : values) {
    Condition& destination = conditions.emplace_back();
    destination.sql =
        "destination_profile_id = ? AND (profile_id IS NULL OR profile_id NOT IN (" + list + "))";
    destination.values.push_back(profile);
    destination.values.insert(destination.values.end(), values.begin(), values.end());
  }
  Condition either{"(profile_id IN (" + list + ") OR destination_profile_id IN (" + list + "))",
                   values};
  either.values.insert(either.values.end(), values.begin(), values.end());
  listing.choose(std::move(conditions), true, std::move(either));
}

}  // namespace

Listing orchestrations_listing(db::Connection& connection, const ListOrchestrations& request,
                               Ownership ownership) {
  Listing listing("orchestrations", select_list<Orchestration>(), Orchestration::fields::count,
                  std::move(ownership), connection.symbols());
  std::vector<Condition> ids;
  ids.reserve(request.orchestration_id.size());
  for (const Id& id : request.orchestration_id) ids.push_back(listing.equals<Id>("id", id));
  listing.choose(std::move(ids), false);
  listing.among<Label>("ref_id", request.ref_id);
  choose_profiles(listing, request.profile_id);
  listing.among<Id>("orchestration_rule_id", request.orchestration_rule_id);
  listing.among<Term>("source_asset", request.source_asset);
  listing.among<Term>("destination_asset", request.destination_asset);
  listing.among<Word>("status", request.status);
  bound(listing.range(), request);
  return listing;
}

std::vector<bool> insert_orchestrations(db::Connection& connection,
                                        std::span<const Orchestration* const> orchestrations) {
  return insert_new_many<Orchestration>(
      connection, orchestrations.size(),
      [&](std::size_t row) -> const Orchestration& { return *orchestrations[row]; },
      "destination_profile_id",
      [&](std::size_t row, Parameters& parameters) {
        return destination_profile(*orchestrations[row], parameters);
      });
}

bool insert_orchestration(db::Connection& connection, const Orchestration& orchestration) {
  const std::array one{&orchestration};
  return insert_orchestrations(connection, one).front();
}

void update_orchestration(db::Connection& connection, std::int64_t key,
                          const Orchestration& orchestration) {
  Parameters parameters(connection.symbols());
  update(connection, key, orchestration,
         {{"destination_profile_id", destination_profile(orchestration, parameters)}});
}

}  // namespace comptroller::store
