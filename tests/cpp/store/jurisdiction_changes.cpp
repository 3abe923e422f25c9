// A group with many claims changes its jurisdiction: writes are bounded, and lists are correct
// throughout.
#include "store/jurisdiction_changes.hpp"

#include <doctest/doctest.h>

#include "db/folder.hpp"
#include "service/maintenance.hpp"
#include "store/brute_force.hpp"
#include "store/payout_groups.hpp"
#include "store/statement_counts.hpp"
#include "store/writing.hpp"

namespace comptroller::store {
namespace {

constexpr int claims_of_large_group = 1'600;
constexpr int claims_of_small_group = 9;

struct Groups : ServiceFixture {
  // One large group and several small ones, all of DE.
  explicit Groups(int small_groups = 10, int large = claims_of_large_group) {
    for (int group = 0; group <= small_groups; ++group) {
      groups.push_back(create_group(acme));
      load(group, group == 0 ? large : claims_of_small_group);
    }
  }

  void load(int group, int count) {
    Dice dice(7);
    service.database()->write([&](db::Connection& connection) {
      store::Writing writing(connection);
      service::Ingestion ingestion(writing, provider, "acme", now, service.environment().make_id);
      for (int number = 0; number < count; ++number) {
        Claim claim;
        claim.id = Id{std::to_string(group) + "-" + std::to_string(number)};
        claim.payout_group_id.value = groups[static_cast<std::size_t>(group)];
        claim.claim_type = Word{"CLAIM_ALL"};
        claim.amount = NonNegativeAmount{"1"};
        claim.onchain_status = static_cast<ClaimStatus>(dice.below(4));
        claim.created_at = dice.instant();
        claim.updated_at = UpdatedAt{claim.created_at};
        ingestion.take(claim);
        claims.push_back(claim);
      }
      ingestion.finish();
    });
  }

  // Changes the jurisdiction without the background part; returns the number of changed rows,
  // without the journal's.
  std::int64_t change(const std::string& jurisdiction, std::size_t group = 0) {
    std::int64_t changes = 0;
    service.database()->write([&](db::Connection& connection) {
      for (const char* text : {"test", "payout_groups"}) connection.symbols().intern(text);
      Writing writing(connection);
      constexpr std::int64_t entries = 1;
      const std::int64_t before = total_changes(connection) + entries;
      const auto stored = find<PayoutGroup>(connection, groups[group]);
      PayoutGroup changed = stored->record;
      changed.jurisdiction = Term{jurisdiction};
      update_payout_group(writing, *stored, changed);
      changes = total_changes(connection) - before;
    });
    return changes;
  }

  // Runs one part; returns whether more are left.
  bool continue_change() {
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
      // Another filter drives.
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

TEST_CASE("lists by jurisdiction are correct before, during and after a change") {
  Groups fixture;
  fixture.check_lists();
  fixture.change("FR");
  CHECK(fixture.is_changing());
  fixture.check_lists();
  while (fixture.continue_change()) fixture.check_lists();
  CHECK_FALSE(fixture.is_changing());
  fixture.check_lists();
}

TEST_CASE("a page does not pass claims of groups in transition between other jurisdictions") {
  Groups fixture;
  fixture.change("NL");
  while (fixture.continue_change()) {
  }
  fixture.change("FR");
  fixture.load(1, 700);
  fixture.change("FR", 1);
  // The claims of the jurisdiction, and those of the second group that still have a copy of it.
  CHECK(count_on_only_page(fixture, fixture.acme, "DE", 300) == 9 * claims_of_small_group);
}

TEST_CASE("a change and each of its parts write a bounded number of rows") {
  Groups fixture(0, 20'000);
  CHECK(fixture.change("FR") <= 503);
  int parts = 1;
  while (fixture.continue_change()) ++parts;
  CHECK(parts >= 39);
  CHECK(Json(check(fixture.service, fixture.provider)).at("/findings") == "[]");
}

TEST_CASE("a group with few claims has changed when its write ends") {
  Groups fixture(1, 5);
  CHECK(fixture.change("FR") == 7);
  CHECK_FALSE(fixture.is_changing());
}

TEST_CASE("after several changes in quick succession the last one is effective") {
  Groups fixture;
  fixture.change("FR");
  fixture.continue_change();
  fixture.change("NL");
  fixture.change("FR", 1);
  fixture.check_lists();
  fixture.continue_change();
  fixture.change("DE");
  fixture.check_lists();
  while (fixture.continue_change()) {
  }
  fixture.check_lists();
}

TEST_CASE("claims that are inserted or change status meanwhile have the current jurisdiction") {
  Groups fixture;
  fixture.change("FR");
  for (const std::size_t part : {0U, 1U, 2U}) {
    int changed = 0;
    for (Claim& claim : fixture.claims) {
      if (claim.onchain_status != ClaimStatus::pending || ++changed % 5 != 0) continue;
      if (changed > 60) break;
      fixture.call(fixture.provider, "claims.submit", {{"id", claim.id.value}},
                   R"({"tx_hash":"h"})");
      claim.onchain_status = ClaimStatus::submitted;
    }
    Claim claim = fixture.claims.front();
    claim.id = Id{"late-" + std::to_string(part)};
    store_records(fixture, std::vector<Claim>{claim});
    customer_of(claim) = "acme";
    fixture.claims.push_back(claim);
    fixture.check_lists();
    fixture.continue_change();
  }
  fixture.check_lists();
}

TEST_CASE("pages across a change show each claim with a constant jurisdiction once") {
  Groups fixture;
  for (const char* jurisdiction : {"FR", "DE"}) {
    CAPTURE(jurisdiction);
    fixture.change("FR");
    fixture.jurisdictions.clear();
    std::vector<std::string> shown;
    std::string cursor;
    do {
      const Json page =
          fixture.call(fixture.acme, "claims.list",
                       {{"jurisdiction", jurisdiction}, {"limit", "150"}, {"page_cursor", cursor}});
      std::ranges::copy(page.each("/items", "id"), std::back_inserter(shown));
      cursor = page.at("/next_page_cursor");
      fixture.continue_change();
    } while (!cursor.empty());
    std::ranges::sort(shown);
    std::vector<std::string> expected;
    for (const auto& [instant, id] : fixture.expected(jurisdiction, {})) expected.push_back(id);
    std::ranges::sort(expected);
    CHECK(shown == expected);
    fixture.change("DE");
    while (fixture.continue_change()) {
    }
  }
}

void wait_for_changes(ServiceFixture& fixture) {
  while (has_jurisdiction_changes(*fixture.service.database()->reader())) std::this_thread::yield();
}

TEST_CASE("an update through the dispatcher is finished in the background") {
  Groups fixture;
  fixture.call(fixture.acme, "payout_groups.update", {{"id", fixture.groups[0]}},
               R"({"jurisdiction":"FR"})");
  fixture.check_lists();
  wait_for_changes(fixture);
  fixture.check_lists();
}

TEST_CASE("a closed service does no background work") {
  Groups fixture(0, 20'000);
  fixture.call(fixture.acme, "payout_groups.update", {{"id", fixture.groups[0]}},
               R"({"jurisdiction":"FR"})");
  fixture.service.close();
  const std::uint64_t writes = fixture.service.database()->commits().writes;
  fixture.service.resume_background_work();
  CHECK(fixture.service.database()->commits().writes == writes);
}

TEST_CASE("a change that was unfinished at closing is finished after the next opening") {
  const db::Folder folder;
  const std::string path = folder / "store.db";
  {
    Groups source;
    source.change("FR");
    source.service.database()->backup(path, {});
  }
  {
    ServiceFixture reading(db::sqlite::open(path, {.read_only = true}));
    CHECK(has_jurisdiction_changes(*reading.service.database()->reader()));
    CHECK(
        ids_of_all_pages(reading, reading.acme, "claims.list", {{"jurisdiction", "FR"}}, 1000, "id")
            .size() == claims_of_large_group);
    CHECK(
        ids_of_all_pages(reading, reading.acme, "claims.list", {{"jurisdiction", "DE"}}, 1000, "id")
            .size() == 10 * claims_of_small_group);
    CHECK(Json(check(reading.service, reading.provider)).at("/findings") == "[]");
  }
  ServiceFixture writing(db::sqlite::open(path, {}));
  wait_for_changes(writing);
  CHECK(ids_of_all_pages(writing, writing.acme, "claims.list", {{"jurisdiction", "FR"}}, 1000, "id")
            .size() == claims_of_large_group);
  CHECK(Json(check(writing.service, writing.provider)).at("/findings") == "[]");
}

TEST_CASE("a group that is inserted after its claims gives them its jurisdiction") {
  Groups fixture(0, 0);
  PayoutGroup group;
  group.id.value = ServiceFixture::generated_id(77);
  group.created_at = group.updated_at = UpdatedAt{service::start};
  group.jurisdiction = Term{"NL"};
  fixture.groups[0] = group.id.value;
  fixture.load(0, claims_of_large_group);
  store_records(fixture, std::vector<PayoutGroup>{[&] {
                  customer_of(group) = "acme";
                  return group;
                }()});
  CHECK(fixture.is_changing());
  fixture.check_lists();
  fixture.service.resume_background_work();
  wait_for_changes(fixture);
  fixture.check_lists();
}

TEST_CASE("a check finds a change whose earlier claims are not rewritten") {
  Groups fixture(0);
  fixture.change("FR");
  fixture.service.database()->write([](db::Connection& connection) {
    connection.execute("UPDATE jurisdiction_changes SET created_at = 9223372036854775807");
  });
  CHECK(Json(check(fixture.service, fixture.provider)).size("/findings") == 1);
}

}  // namespace
}  // namespace comptroller::store
