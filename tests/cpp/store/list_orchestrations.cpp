#include <doctest/doctest.h>

#include "store/brute_force.hpp"

namespace comptroller::store {
namespace {

const std::vector<std::string> profiles{"p1", "p2", "00000000-0000-4000-8000-000000000001"};
const std::vector<std::string> assets{"BTC", "ETH", "USD"};
const std::vector<std::string> statuses{"PROCESSING", "COMPLETED", "FAILED", "SOMETHING_NEW"};
const std::vector<std::string> rules{"rule-1", "00000000-0000-4000-8000-00000000000A"};
const std::vector<std::string> references{"r1", "r,2", "R1"};

std::vector<Orchestration> random_orchestrations(Dice& dice, std::size_t count) {
  std::vector<Orchestration> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    Orchestration& record = records[i];
    record.id = *FieldType<Id>::parse(i % 2 == 0 ? "o" + std::to_string(i)
                                                 : ServiceFixture::generated_id(int(i) + 5000));
    record.customer_id.value = dice.pick(customers);
    record.status = Word{dice.pick(statuses)};
    record.created_at = dice.instant();
    record.updated_at = UpdatedAt{record.created_at};
    record.profile_id = dice.maybe<Id>(profiles);
    record.orchestration_rule_id = dice.maybe<Id>(rules);
    record.source_asset = dice.maybe<Term>(assets);
    record.destination_asset = dice.maybe<Term>(assets);
    record.ref_id = dice.maybe<Label>(references);
    if (dice.chance(50)) {
      record.destination.emplace().profile.emplace().profile_id = dice.maybe<Id>(profiles);
    }
  }
  return records;
}

std::vector<std::string> both_profiles(const Orchestration& record) {
  std::vector<std::string> values = text_of(record.profile_id);
  if (record.destination && record.destination->profile &&
      record.destination->profile->profile_id) {
    values.push_back(record.destination->profile->profile_id->value);
  }
  return values;
}

struct Array {
  const char* name;
  std::vector<std::string> values;
  std::function<std::vector<std::string>(const Orchestration&)> values_of;
};

std::vector<Array> arrays(const std::vector<Orchestration>& records) {
  std::vector<std::string> ids{"nothing"};
  for (const Orchestration& record : records) ids.push_back(record.id.value);
  const auto of = [](auto member) {
    return [member](const Orchestration& record) { return text_of(record.*member); };
  };
  return {{"orchestration_id", ids, of(&Orchestration::id)},
          {"profile_id", profiles, both_profiles},
          {"ref_id", references, of(&Orchestration::ref_id)},
          {"orchestration_rule_id",
           {"rule-1", "00000000-0000-4000-8000-00000000000a", "unknown"},
           of(&Orchestration::orchestration_rule_id)},
          {"source_asset", {"BTC", "ETH", "USD", "never seen"}, of(&Orchestration::source_asset)},
          {"destination_asset", assets, of(&Orchestration::destination_asset)},
          {"status", statuses, of(&Orchestration::status)}};
}

struct Orchestrations : ServiceFixture {
  Dice dice{20260301};
  std::vector<Orchestration> records = random_orchestrations(dice, 60);
  Orchestrations() { store_records(*this, records); }

  void check(const Filter<Orchestration>& filter, const Caller& caller,
             const PageSizes& sizes = small_pages()) {
    check_filter<Orchestration>(*this, "orchestrations.list", records, filter, caller, sizes);
  }
};

TEST_CASE_FIXTURE(Orchestrations, "orchestrations: every filter alone, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check({}, caller);
    for (const Array& array : arrays(records)) {
      Filter<Orchestration> filter;
      filter.among(array.name, {dice.pick(array.values)}, array.values_of);
      check(filter, caller);
    }
  }
}

TEST_CASE_FIXTURE(Orchestrations, "orchestrations: every bound at, before and after each time") {
  for (const Bound& bound : created_at_bounds) {
    for (const Timestamp instant : Dice::instants()) {
      Filter<Orchestration> filter;
      filter.bound(bound.name, Timestamp{instant.microseconds + std::int64_t(dice.below(3)) - 1},
                   bound.holds);
      check(filter, callers(*this)[dice.below(2)]);
    }
  }
}

TEST_CASE_FIXTURE(Orchestrations, "orchestrations: bounds combined, including empty ranges") {
  for (int round = 0; round < 20; ++round) {
    Filter<Orchestration> filter;
    for (const Bound& bound : created_at_bounds) {
      if (dice.chance(50)) filter.bound(bound.name, dice.instant(), bound.holds);
    }
    check(filter, callers(*this)[dice.below(2)]);
  }
}

TEST_CASE_FIXTURE(Orchestrations, "orchestrations: arrays combined, with repeated values") {
  for (int round = 0; round < 60; ++round) {
    Filter<Orchestration> filter;
    for (const Array& array : arrays(records)) {
      if (!dice.chance(30)) continue;
      std::vector<std::string> values;
      for (std::size_t n = 1 + dice.below(4); n > 0; --n) values.push_back(dice.pick(array.values));
      filter.among(array.name, values, array.values_of);
    }
    if (dice.chance(30)) {
      const Bound& bound = dice.pick(created_at_bounds);
      filter.bound(bound.name, dice.instant(), bound.holds);
    }
    check(filter, dice.pick(callers(*this)));
  }
}

TEST_CASE_FIXTURE(Orchestrations,
                  "orchestrations: a row that matches a profile twice is listed once") {
  Filter<Orchestration> filter;
  filter.among("profile_id", profiles, both_profiles);
  for (const Caller& caller : callers(*this)) check(filter, caller);
}

TEST_CASE_FIXTURE(Orchestrations, "orchestrations: every array full, alone and combined") {
  Filter<Orchestration> all;
  for (const Array& array : arrays(records)) {
    std::vector<std::string> values = array.values;
    while (values.size() < 100) values.push_back("OTHER_" + std::to_string(values.size()));
    Filter<Orchestration> one;
    one.among(array.name, values, array.values_of);
    check(one, dice.pick(callers(*this)), large_pages);
    all.among(array.name, values, array.values_of);
    check(all, callers(*this)[0], large_pages);
  }
  check(all, callers(*this)[1], large_pages);
}

}  // namespace
}  // namespace comptroller::store
