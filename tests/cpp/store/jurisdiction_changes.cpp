// A group with many claims changes its jurisdiction: bounded writes, lists that are right
// throughout.
#include "store/jurisdiction_changes.hpp"

#include <doctest/doctest.h>

#include <array>

#include "db/folder.hpp"
#include "service/maintenance.hpp"
#include "store/brute_force.hpp"
#include "store/payout_groups.hpp"
#include "store/statement_counts.hpp"

namespace comptroller::store {
namespace {

constexpr int claims_of_large_group = 2'500;
constexpr int claims_of_small_group = 9;

struct Groups : World {
  // One large group and several small ones, all of DE, and groups without claims in every
  // jurisdiction: lists merge the claims of each group of a jurisdiction up to 100.
  explicit Groups(int small_groups = 10, int large = claims_of_large_group,
                  int empty_groups = 101) {
    std::vector<PayoutGroup> empty;
    for (int number = 0; number < 3 * empty_groups; ++number) {
      PayoutGroup group;
      group.id.value = made_id(1000 + number);
      group.created_at = group.updated_at = UpdatedAt{now};
      group.jurisdiction =
          Term{std::array{"DE", "FR", "NL"}.at(static_cast<std::size_t>(number % 3))};
      customer_of(group) = "acme";
      empty.push_back(group);
    }
    arrive(*this, empty);
    for (int group = 0; group <= small_groups; ++group) {
      groups.push_back(create_group(acme));
      load(group, group == 0 ? large : claims_of_small_group);
    }
  }

  void load(int group, int count) {
    Dice dice(7);
    service.database()->write([&](db::Connection& connection) {
      service::Ingestion ingestion(connection, provider, "acme", now,
                                   service.environment().make_id);
      for (int number = 0; number < count; ++number) {
        Claim claim;
        claim.id = Id{std::to_string(group) + "-" + std::to_string(number)};
        claim.payout_group_id.value = groups[static_cast<std::size_t>(group)];
        claim.claim_type = Word{"CLAIM_ALL"};
        claim.amount = NonNegativeAmount{"1"};
        claim.onchain_status = static_cast<ClaimStatus>(dice.below(4));
        claim.created_at = dice.moment();
        claim.updated_at = UpdatedAt{claim.created_at};
        ingestion.take(claim);
        claims.push_back(claim);
      }
      ingestion.finish();
    });
  }

  // The change without its background part; gives the rows that it changed.
  std::int64_t change(const std::string& jurisdiction, std::size_t group = 0) {
    std::int64_t changes = 0;
    service.database()->write([&](db::Connection& connection) {
      const std::int64_t before = total_changes(connection);
      const auto stored = find<PayoutGroup>(connection, groups[group]);
      PayoutGroup changed = stored->record;
      changed.jurisdiction = Term{jurisdiction};
      update_payout_group(connection, *stored, changed);
      changes = total_changes(connection) - before;
    });
    return changes;
  }

  // One part; gives whether more are left.
  bool go_on() {
    bool is_more = false;
    service.database()->write([&](db::Connection& connection) {
      const std::int64_t before = total_changes(connection);
      is_more = continue_jurisdiction_changes(connection);
      CHECK(total_changes(connection) - before <= 501);
    });
    return is_more;
  }
  bool is_changing() { return has_jurisdiction_changes(*service.database()->reader()); }

  std::string jurisdiction_of(const Claim& claim) {
    const std::string& group = claim.payout_group_id.value;
    auto [known, is_new] = jurisdictions.try_emplace(group);
    if (is_new) {
      known->second = call(acme, "payout_groups.get", {{"id", group}}).at("/jurisdiction");
    }
    return known->second;
  }

  std::vector<std::pair<Timestamp, std::string>> expected(const std::string& jurisdiction,
                                                          std::optional<ClaimStatus> status) {
    std::vector<std::pair<Timestamp, std::string>> rows;
    for (const Claim& claim : claims) {
      if (jurisdiction_of(claim) != jurisdiction) continue;
      if (status && claim.onchain_status != *status) continue;
      rows.emplace_back(claim.created_at, claim.id.value);
    }
    return rows;
  }

  void check_lists() {
    jurisdictions.clear();
    for (const char* jurisdiction : {"DE", "FR", "NL"}) {
      const service::Parameters of{{"jurisdiction", jurisdiction}};
      const PageSizes sizes{97, 1000};
      check_list<Claim>(*this, acme, "claims.list", of, expected(jurisdiction, {}), "id", sizes);
      check_list<Claim>(*this, provider, "claims.list", of, expected(jurisdiction, {}), "id",
                        {1000});
      service::Parameters with_status = of;
      with_status.push_back({"statuses", "CONFIRMED"});
      check_list<Claim>(*this, acme, "claims.list", with_status,
                        expected(jurisdiction, ClaimStatus::confirmed), "id", {1000});
      // Driven by another choice.
      service::Parameters of_group = of;
      of_group.push_back({"payout_group_id", groups[0]});
      const bool is_present = jurisdiction_of(claims.front()) == jurisdiction;
      CHECK(count(acme, "claims.list", of_group) == (is_present ? 1000 : 0));
    }
    const Json report(check(service, provider));
    CHECK(report.at("/findings") == "[]");
  }

  std::vector<std::string> groups;
  std::vector<Claim> claims;
  std::map<std::string, std::string> jurisdictions;
};

TEST_CASE("lists by jurisdiction are right before, during and after a change") {
  for (const int empty_groups : {0, 101}) {
    CAPTURE(empty_groups);
    Groups world(10, claims_of_large_group, empty_groups);
    world.check_lists();
    world.change("FR");
    CHECK(world.is_changing());
    world.check_lists();
    while (world.go_on()) world.check_lists();
    CHECK_FALSE(world.is_changing());
    world.check_lists();
  }
}

TEST_CASE("a change and each of its parts write a bounded number of rows") {
  Groups world(0, 20'000);
  CHECK(world.change("FR") <= 503);
  int parts = 1;
  while (world.go_on()) ++parts;
  CHECK(parts >= 39);
  CHECK(Json(check(world.service, world.provider)).at("/findings") == "[]");
}

TEST_CASE("a group with few claims has changed when its write ends") {
  Groups world(1, 5, 0);
  CHECK(world.change("FR") == 7);
  CHECK_FALSE(world.is_changing());
}

TEST_CASE("changes in quick succession end with the last") {
  Groups world;
  world.change("FR");
  world.go_on();
  world.change("NL");
  world.change("FR", 1);
  world.check_lists();
  world.go_on();
  world.change("DE");
  world.check_lists();
  while (world.go_on()) {
  }
  world.check_lists();
}

TEST_CASE("claims that arrive or change status meanwhile have the present jurisdiction") {
  Groups world;
  world.change("FR");
  world.load(0, 0);
  for (const std::size_t part : {0U, 1U, 2U}) {
    int changed = 0;
    for (Claim& claim : world.claims) {
      if (claim.onchain_status != ClaimStatus::pending || ++changed % 5 != 0) continue;
      if (changed > 60) break;
      world.call(world.provider, "claims.submit", {{"id", claim.id.value}}, R"({"tx_hash":"h"})");
      claim.onchain_status = ClaimStatus::submitted;
    }
    Claim claim = world.claims.front();
    claim.id = Id{"late-" + std::to_string(part)};
    arrive(world, std::vector<Claim>{claim});
    customer_of(claim) = "acme";
    world.claims.push_back(claim);
    world.check_lists();
    world.go_on();
  }
  world.check_lists();
}

TEST_CASE("pages across a change show each claim that has the jurisdiction throughout once") {
  Groups world;
  for (const char* jurisdiction : {"FR", "DE"}) {
    CAPTURE(jurisdiction);
    world.change("FR");
    world.jurisdictions.clear();
    std::vector<std::string> shown;
    std::string cursor;
    do {
      const Json page =
          world.call(world.acme, "claims.list",
                     {{"jurisdiction", jurisdiction}, {"limit", "150"}, {"page_cursor", cursor}});
      std::ranges::copy(page.each("/items", "id"), std::back_inserter(shown));
      cursor = page.at("/next_page_cursor");
      world.go_on();
    } while (!cursor.empty());
    std::ranges::sort(shown);
    std::vector<std::string> expected;
    for (const auto& [moment, id] : world.expected(jurisdiction, {})) expected.push_back(id);
    std::ranges::sort(expected);
    CHECK(shown == expected);
    world.change("DE");
    while (world.go_on()) {
    }
  }
}

// Waits for the background thread of a service.
void wait_for_changes(World& world) {
  while (has_jurisdiction_changes(*world.service.database()->reader())) std::this_thread::yield();
}

TEST_CASE("an update through the dispatcher is finished in the background") {
  Groups world;
  world.call(world.acme, "payout_groups.update", {{"id", world.groups[0]}},
             R"({"jurisdiction":"FR"})");
  world.check_lists();
  wait_for_changes(world);
  world.check_lists();
}

TEST_CASE("a closed service does no background work") {
  Groups world(0, 20'000);
  world.call(world.acme, "payout_groups.update", {{"id", world.groups[0]}},
             R"({"jurisdiction":"FR"})");
  world.service.close();
  const std::uint64_t writes = world.service.database()->commits().writes;
  world.service.resume_background_work();
  CHECK(world.service.database()->commits().writes == writes);
}

TEST_CASE("what was left when a store was closed is finished after the next opening") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  {
    Groups source;
    source.change("FR");
    source.service.database()->backup(path);
  }
  {
    World reading(db::sqlite::open(path, {.read_only = true}));
    CHECK(has_jurisdiction_changes(*reading.service.database()->reader()));
    CHECK(walk(reading, reading.acme, "claims.list", {{"jurisdiction", "FR"}}, 1000, "id").size() ==
          claims_of_large_group);
    CHECK(walk(reading, reading.acme, "claims.list", {{"jurisdiction", "DE"}}, 1000, "id").size() ==
          10 * claims_of_small_group);
    CHECK(Json(check(reading.service, reading.provider)).at("/findings") == "[]");
  }
  World writing(db::sqlite::open(path, {}));
  wait_for_changes(writing);
  CHECK(walk(writing, writing.acme, "claims.list", {{"jurisdiction", "FR"}}, 1000, "id").size() ==
        claims_of_large_group);
  CHECK(Json(check(writing.service, writing.provider)).at("/findings") == "[]");
}

TEST_CASE("a group that comes after many claims gives them its jurisdiction") {
  Groups world(0, 0);
  PayoutGroup group;
  group.id.value = World::made_id(77);
  group.created_at = group.updated_at = UpdatedAt{service::start};
  group.jurisdiction = Term{"NL"};
  world.groups[0] = group.id.value;
  world.load(0, claims_of_large_group);
  arrive(world, std::vector<PayoutGroup>{[&] {
           customer_of(group) = "acme";
           return group;
         }()});
  CHECK(world.is_changing());
  world.check_lists();
  world.service.resume_background_work();
  wait_for_changes(world);
  world.check_lists();
}

TEST_CASE("a place in a change that claims it before does not hold is found") {
  Groups world(0);
  world.change("FR");
  world.service.database()->write([](db::Connection& connection) {
    connection.execute("UPDATE jurisdiction_changes SET created_at = 9223372036854775807");
  });
  CHECK(Json(check(world.service, world.provider)).size("/findings") == 1);
}

}  // namespace
}  // namespace comptroller::store
