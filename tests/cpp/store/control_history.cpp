// The cost of reading an identity's controls does not depend on how many were deleted before.
#include <doctest/doctest.h>

#include <random>

#include "service/ingestion.hpp"
#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"
#include "store/identities.hpp"
#include "store/statement_counts.hpp"
#include "store/writing.hpp"

namespace comptroller::store {
namespace {

using service::Ingestion;
using service::Json;
using service::ServiceFixture;

constexpr std::int64_t second = 1'000'000;

// A control is in force from created_at (included) to deleted_at (excluded).
bool is_active_at(const Control& control, Timestamp time) {
  const std::optional<Timestamp>& deleted = control.deleted_at;
  return control.created_at <= time && (!deleted || time < *deleted);
}

struct Histories : ServiceFixture {
  explicit Histories(std::uint64_t seed = 1) : dice(seed) {}

  std::size_t below(std::size_t count) { return dice() % count; }
  Timestamp any_time() {
    return {service::start.microseconds + static_cast<std::int64_t>(below(20))};
  }

  Control any_control(const std::string& identity) {
    Control control;
    control.id = Id{"c" + std::to_string(made++)};
    control.identity_id = Id{identity};
    control.type = static_cast<ControlType>(below(4));
    control.set_by = static_cast<SetBy>(below(2));
    control.is_overridable = true;
    control.created_at = any_time();
    // An active control may be refused. The order of a control's times is not validated.
    if (below(4) > 0) control.deleted_at = any_time();
    if (below(3) == 0) control.reason_code = Word{"LEGACY_USER_DISABLED"};
    return control;
  }

  void load(Control control) {
    service.database()->write([&](db::Connection& connection) {
      store::Writing writing(connection);
      Ingestion ingestion(writing, provider, "acme", now, service.environment().make_id);
      try {
        ingestion.take(control);
      } catch (const Error&) {  // would be active twice
      }
      ingestion.finish();
    });
  }

  std::vector<Control> all_controls() {
    const db::Lease reader = service.database()->reader();
    db::Query query = reader->query("SELECT " + select_list<Control>() + " FROM controls");
    std::vector<Control> controls;
    while (query.step()) controls.push_back(read_row<Control>(query, reader->symbols()));
    return controls;
  }

  void check_answers() {
    std::vector<Control> all = all_controls();
    for (std::int64_t offset = -1; offset <= 20; ++offset) {
      const Timestamp at{service::start.microseconds + offset};
      for (const char* identity : {"i0", "i1"}) {
        std::vector<Control> in_force;
        for (const Control& control : all) {
          if (control.identity_id.value == identity && is_active_at(control, at)) {
            in_force.push_back(control);
          }
        }
        const std::vector<Action> permitted = rules::permitted_actions(in_force);
        for (const Action action : {Action::buy, Action::sell, Action::deposit}) {
          const bool expected = std::ranges::find(permitted, action) != permitted.end();
          CHECK(call(provider, "identities.permits",
                     {{"id", identity},
                      {"action", std::string(enum_text(action))},
                      {"at", to_string(at)}})
                    .at("/permitted") == (expected ? "true" : "false"));
        }
      }
    }
    const Json report(check(service, provider));
    CHECK(report.at("/findings") == "[]");
  }

  std::mt19937_64 dice;
  int made = 0;
};

TEST_CASE("all controls in force at a time determine what an identity could do") {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    CAPTURE(seed);
    Histories fixture(seed);
    for (const char* identity : {"i0", "i1"}) fixture.put_identity(identity, "acme");
    std::vector<Control> loaded;
    for (int round = 0; round < 60; ++round) {
      const std::string identity = "i" + std::to_string(fixture.below(2));
      fixture.now = fixture.any_time();
      switch (fixture.below(6)) {
        case 0:
          fixture.code(
              fixture.provider, "controls.create", {},
              R"({"identity_id":")" + identity + R"(","type":"FROZEN","reason_code":"TEST"})");
          break;
        case 1: {
          const Json active = fixture.call(fixture.provider, "controls.list");
          const std::vector<std::string> ids = active.each("/items", "id");
          if (ids.empty()) break;
          fixture.call(fixture.provider, "controls.delete",
                       {{"control_id", ids[fixture.below(ids.size())]}});
          break;
        }
        case 2:
          fixture.code(
              fixture.provider, "identities.update", {{"id", identity}},
              fixture.below(2) == 0 ? R"({"user_disabled":true})" : R"({"user_disabled":false})");
          break;
        case 3:
          if (!loaded.empty()) {
            Control again = loaded[fixture.below(loaded.size())];
            again.deleted_at = fixture.any_time();
            fixture.load(again);
          }
          break;
        default:
          loaded.push_back(fixture.any_control(identity));
          fixture.load(loaded.back());
      }
    }
    fixture.check_answers();
  }
}

// Counts the steps of one call, on the reader or the writer that it uses.
struct Measured : ServiceFixture {
  std::int64_t steps_of(const std::string& operation, service::Parameters parameters,
                        std::string body) {
    take();
    call(provider, operation, std::move(parameters), std::move(body));
    return take();
  }
  std::int64_t take() {
    std::int64_t steps = take_steps(*service.database()->reader());
    service.database()->write([&](db::Connection& connection) { steps += take_steps(connection); });
    return steps;
  }

  // Returns the cost of each operation on an identity.
  std::vector<std::int64_t> measure(const std::string& id) {
    std::vector<std::int64_t> steps;
    for (int round = 0; round < 2; ++round) {  // the first round prepares the statements
      now.microseconds += second;
      steps = {
          steps_of("identities.get", {{"id", id}}, ""),
          steps_of("identities.permits", {{"id", id}, {"action", "BUY"}}, ""),
          steps_of("identities.permits",
                   {{"id", id}, {"action", "BUY"}, {"at", to_string(service::start)}}, ""),
          steps_of("identities.update", {{"id", id}}, R"({"metadata":{"k":"v"}})"),
          steps_of("identities.update", {{"id", id}}, R"({"user_disabled":true})"),
          steps_of("identities.update", {{"id", id}}, R"({"user_disabled":false})"),
      };
      take();
      const std::string control = create_control(provider, id, "FROZEN");
      steps.push_back(take());
      now.microseconds += second;
      steps.push_back(steps_of("controls.delete", {{"control_id", control}}, ""));
    }
    return steps;
  }
};

TEST_CASE_FIXTURE(
    Measured, "the cost of an operation on an identity does not grow with its deleted controls") {
  if (!db::tests_use_sqlite()) return;  // counts steps of SQLite
  put_identity("short", "acme");
  put_identity("long", "acme");
  service.database()->write_bulk([&](db::Connection& connection) {
    const auto identity = find_identity(connection, "long");
    REQUIRE(identity);
    Control control;
    control.identity_id = Id{"long"};
    customer_of(control) = "acme";
    control.created_by = Label{"loaded"};
    for (std::int64_t number = 0; number < 100'000; ++number) {
      control.id = Id{"h" + std::to_string(number)};
      control.type = static_cast<ControlType>(number % 4);
      control.set_by = static_cast<SetBy>(number / 4 % 2);
      control.created_at = {service::start.microseconds - (200'000 - number) * second};
      control.deleted_at = {control.created_at.microseconds + second};
      Writing writing(connection);
      insert_control(writing, control, *identity);
    }
    return true;
  });
  const std::vector<std::int64_t> without = measure("short");
  const std::vector<std::int64_t> with = measure("long");
  for (std::size_t index = 0; index < without.size(); ++index) {
    CAPTURE(index);
    CHECK(with[index] <= without[index] * 3 / 2);
  }
  check_plans(*service.database()->reader());
  service.database()->write([](db::Connection& connection) { check_plans(connection); });
}

}  // namespace
}  // namespace comptroller::store
