#include <doctest/doctest.h>

#include <map>

#include "store/brute_force.hpp"

namespace comptroller::store {
namespace {

const std::vector<std::string> types{"SELL_ONLY", "CLOSED", "FROZEN", "DORMANT"};
const std::vector<std::string> setters{"CLIENT", "PROVIDER"};
const std::vector<std::string> reasons{"FRAUD", "INACTIVE", "REQUEST"};
const std::vector<std::string> references{"r1", "r2"};

std::vector<IdentityLine> random_identities(Dice& dice, std::size_t count) {
  std::vector<IdentityLine> records(count);
  for (std::size_t i = 0; i < count; ++i) {
    IdentityLine& record = records[i];
    record.id = *FieldType<Id>::parse(i % 2 == 0 ? "i" + std::to_string(i)
                                                 : ServiceFixture::generated_id(int(i) + 5000));
    record.customer_id.value = dice.pick(customers);
    record.ref_id = dice.maybe<Label>(references);
    record.created_at = dice.instant();
    record.updated_at = UpdatedAt{record.created_at};
  }
  return records;
}

// Up to six controls for each identity; active controls differ in type or setter.
std::vector<Control> random_controls(Dice& dice, const std::vector<IdentityLine>& identities) {
  std::vector<Control> records;
  for (const IdentityLine& identity : identities) {
    std::set<std::pair<ControlType, SetBy>> standing;
    for (std::size_t n = dice.below(7); n > 0; --n) {
      Control record;
      record.id = Id{"c" + std::to_string(records.size())};
      record.identity_id = identity.id;
      customer_of(record) = identity.customer_id.value;
      record.type = static_cast<ControlType>(dice.below(4));
      record.set_by = static_cast<SetBy>(dice.below(2));
      record.is_overridable = dice.chance(50);
      record.reason_code = dice.maybe<Word>(reasons);
      record.created_at = dice.instant();
      if (dice.chance(40) || !standing.emplace(record.type, record.set_by).second) {
        record.deleted_at = std::max(record.created_at, dice.instant());
      }
      records.push_back(std::move(record));
    }
  }
  std::ranges::shuffle(records, std::mt19937_64(7));
  return records;
}

struct Restricted : ServiceFixture {
  Dice dice{4};
  std::vector<IdentityLine> identities = random_identities(dice, 40);
  std::vector<Control> controls = random_controls(dice, identities);
  std::map<std::string, std::vector<const Control*>> active;

  Restricted() {
    store_records(*this, identities);
    store_records(*this, controls);
    for (const Control& control : controls) {
      if (!control.deleted_at) active[control.identity_id.value].push_back(&control);
    }
  }

  void check_controls(Filter<Control> filter, const Caller& caller, bool shows_deleted = true) {
    if (!shows_deleted) {
      filter.conditions.emplace_back([](const Control& c) { return !c.deleted_at; });
    } else {
      filter.parameters.push_back({"include_deleted", "true"});
    }
    check_filter<Control>(*this, "controls.list", controls, filter, caller);
  }
  void check_identities(const Filter<IdentityLine>& filter, const Caller& caller) {
    check_filter<StoredIdentity>(*this, "identities.list", identities, filter, caller);
  }

  // Selects identities with an active control that has one of the values.
  void by_controls(Filter<IdentityLine>& filter, const std::string& name,
                   const std::vector<std::string>& values, auto member) {
    filter.among(name, values, [this, member](const IdentityLine& identity) {
      std::vector<std::string> found;
      for (const Control* control : active[identity.id.value]) {
        for (std::string& text : text_of(control->*member)) found.push_back(std::move(text));
      }
      return found;
    });
  }
  std::vector<std::string> some(const std::vector<std::string>& of) {
    std::vector<std::string> values;
    for (std::size_t n = 1 + dice.below(3); n > 0; --n) values.push_back(dice.pick(of));
    return values;
  }
  Caller anyone() { return dice.pick(callers(*this)); }
};

template <class T>
std::function<std::vector<std::string>(const Control&)> of(T Control::* member) {
  return [member](const Control& control) { return text_of(control.*member); };
}

TEST_CASE_FIXTURE(Restricted, "controls: every filter alone, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check_controls({}, caller, true);
    check_controls({}, caller, false);
    for (const auto& [name, values, values_of] :
         {std::tuple{"type", types, of(&Control::type)},
          std::tuple{"set_by", setters, of(&Control::set_by)},
          std::tuple{"reason_code", reasons, of(&Control::reason_code)}}) {
      Filter<Control> filter;
      filter.among(name, {dice.pick(values)}, values_of);
      check_controls(filter, caller);
    }
    Filter<Control> filter;
    const std::string identity = dice.pick(identities).id.value;
    filter.among("identity_id", {identity}, of(&Control::identity_id));
    check_controls(filter, caller);
  }
}

TEST_CASE_FIXTURE(Restricted, "controls: filters combined") {
  for (int round = 0; round < 40; ++round) {
    Filter<Control> filter;
    if (dice.chance(50)) filter.among("type", some(types), of(&Control::type));
    if (dice.chance(40)) filter.among("set_by", some(setters), of(&Control::set_by));
    if (dice.chance(40)) filter.among("reason_code", some(reasons), of(&Control::reason_code));
    if (dice.chance(20)) {
      filter.among("identity_id", {dice.pick(identities).id.value}, of(&Control::identity_id));
    }
    if (dice.chance(30)) {
      const Bound& bound = dice.pick(created_at_bounds);
      filter.bound(bound.name, dice.instant(), bound.holds);
    }
    check_controls(filter, anyone(), dice.chance(50));
  }
}

TEST_CASE_FIXTURE(Restricted, "controls: every bound at, before and after each time") {
  for (const Bound& bound : created_at_bounds) {
    for (const Timestamp instant : Dice::instants()) {
      Filter<Control> filter;
      filter.bound(bound.name, Timestamp{instant.microseconds + std::int64_t(dice.below(3)) - 1},
                   bound.holds);
      check_controls(filter, callers(*this)[dice.below(2)]);
    }
  }
}

TEST_CASE_FIXTURE(Restricted, "controls: those in force at a time, deleted since or not") {
  for (const Timestamp instant : Dice::instants()) {
    for (const std::int64_t off : {-1, 0, 1}) {
      const Timestamp at{instant.microseconds + off};
      Filter<Control> filter;
      filter.condition("active_at", to_string(at), [at](const Control& control) {
        return control.created_at <= at && (!control.deleted_at || at < *control.deleted_at);
      });
      if (dice.chance(30)) filter.among("type", some(types), of(&Control::type));
      check_filter<Control>(*this, "controls.list", controls, filter, anyone());
    }
  }
}

TEST_CASE_FIXTURE(Restricted, "identities: every filter alone, for every caller") {
  for (const Caller& caller : callers(*this)) {
    check_identities({}, caller);
    for (const std::string& type : types) {
      Filter<IdentityLine> filter;
      by_controls(filter, "control_types", {type}, &Control::type);
      check_identities(filter, caller);
    }
    Filter<IdentityLine> by_reason;
    by_controls(by_reason, "control_reason_codes", {dice.pick(reasons)}, &Control::reason_code);
    check_identities(by_reason, caller);
    Filter<IdentityLine> by_reference;
    by_reference.among("ref_id", {"r1"},
                       [](const IdentityLine& identity) { return text_of(identity.ref_id); });
    check_identities(by_reference, caller);
  }
}

TEST_CASE_FIXTURE(Restricted,
                  "identities: an identity with several matching controls is listed once") {
  Filter<IdentityLine> filter;
  by_controls(filter, "control_types", types, &Control::type);
  for (const Caller& caller : callers(*this)) check_identities(filter, caller);
  by_controls(filter, "control_reason_codes", reasons, &Control::reason_code);
  for (const Caller& caller : callers(*this)) check_identities(filter, caller);
}

TEST_CASE_FIXTURE(Restricted, "identities: filters combined") {
  for (int round = 0; round < 40; ++round) {
    Filter<IdentityLine> filter;
    if (dice.chance(50)) by_controls(filter, "control_types", some(types), &Control::type);
    if (dice.chance(50)) {
      by_controls(filter, "control_reason_codes", some(reasons), &Control::reason_code);
    }
    if (dice.chance(30)) {
      filter.among("ref_id", {dice.pick(references)},
                   [](const IdentityLine& identity) { return text_of(identity.ref_id); });
    }
    for (const Bound& bound : created_at_bounds) {
      if (dice.chance(15)) filter.bound(bound.name, dice.instant(), bound.holds);
    }
    check_identities(filter, anyone());
  }
}

TEST_CASE_FIXTURE(Restricted, "identities: every bound at, before and after each time") {
  for (const Bound& bound : created_at_bounds) {
    for (const Timestamp instant : Dice::instants()) {
      Filter<IdentityLine> filter;
      filter.bound(bound.name, Timestamp{instant.microseconds + std::int64_t(dice.below(3)) - 1},
                   bound.holds);
      if (dice.chance(50)) by_controls(filter, "control_types", some(types), &Control::type);
      check_identities(filter, callers(*this)[dice.below(2)]);
    }
  }
}

TEST_CASE_FIXTURE(Restricted, "identities: a list and a get show the same identity") {
  const Json page = call(provider, "identities.list", {{"limit", "1000"}});
  for (std::size_t i = 0; i < page.size("/items"); ++i) {
    const std::string item = "/items/" + std::to_string(i);
    CHECK(page.at(item) ==
          call(provider, "identities.get", {{"id", page.at(item + "/id")}}).at(""));
  }
}

}  // namespace
}  // namespace comptroller::store
