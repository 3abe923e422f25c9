// Lists of claims by jurisdiction while many payout groups change theirs.
#include <doctest/doctest.h>

#include "store/brute_force.hpp"
#include "store/invariants.hpp"
#include "store/jurisdiction_changes.hpp"

namespace comptroller::store {
namespace {

// Many groups with few claims each, some of them in transition between any jurisdictions.
struct ManyGroups : ServiceFixture {
  Dice dice{11};
  std::vector<PayoutGroup> groups;
  std::vector<Claim> claims;

  ManyGroups() {
    for (int i = 0; i < 40; ++i) {
      PayoutGroup& group = groups.emplace_back();
      group.id.value = generated_id(1000 + i);
      customer_of(group) = customers[static_cast<std::size_t>(i) % 2];
      group.created_at = group.updated_at = UpdatedAt{now};
      group.jurisdiction = Term{dice.pick(jurisdictions)};
    }
    for (int i = 0; i < 200; ++i) {
      const PayoutGroup& group = dice.pick(groups);
      Claim& claim = claims.emplace_back();
      claim.id = Id{std::to_string(i)};
      claim.payout_group_id.value = group.id.value;
      customer_of(claim) = customer_of(group);
      claim.claim_type = Word{"CLAIM_ALL"};
      claim.amount = NonNegativeAmount{"1"};
      claim.onchain_status = static_cast<ClaimStatus>(dice.below(4));
      claim.created_at = dice.instant();
      claim.updated_at = UpdatedAt{claim.created_at};
    }
    store_records(*this, groups);
    store_records(*this, claims);
  }

  // Begins the transition of a group, as of a group with many claims.
  void begin_change(PayoutGroup& group, const std::string& jurisdiction) {
    group.jurisdiction = Term{jurisdiction};
    service.database()->write([&](db::Connection& connection) {
      connection.query("UPDATE payout_groups SET jurisdiction = $jurisdiction WHERE id = $group")
          .bind("$jurisdiction", Value::of(connection.symbols().intern(group.jurisdiction->value)))
          .bind("$group", Value::of(connection.symbols().intern(group.id.value)))
          .run();
      connection
          .query(
              "INSERT INTO jurisdiction_changes (group_id, created_at, claim_key, customer_id)"
              " SELECT id, -9223372036854775808, 0, customer_id FROM payout_groups"
              " WHERE id = $group ON CONFLICT DO NOTHING")
          .bind("$group", Value::of(connection.symbols().intern(group.id.value)))
          .run();
    });
  }

  bool is_in(const std::string& jurisdiction, const GroupId& id) const {
    return std::ranges::find(groups, id, &PayoutGroup::id)->jurisdiction == Term{jurisdiction};
  }
  std::int64_t count_claims(const std::string& jurisdiction, const std::string& customer) {
    return std::ranges::count_if(claims, [&](const Claim& claim) {
      return is_in(jurisdiction, claim.payout_group_id) &&
             (customer.empty() || customer_of(claim) == customer);
    });
  }

  void check_lists() {
    for (const Caller& caller : callers(*this)) {
      for (const std::string& wanted : jurisdictions) {
        Filter<Claim> filter;
        filter.condition("jurisdiction", wanted, [this, wanted](const Claim& claim) {
          return is_in(wanted, claim.payout_group_id);
        });
        if (dice.chance(30)) {
          filter.among("statuses", {"PENDING", "FAILED"},
                       [](const Claim& claim) { return text_of(claim.onchain_status); });
        }
        if (dice.chance(20)) {
          filter.among("payout_group_id", {dice.pick(groups).id.value},
                       [](const Claim& claim) { return text_of(claim.payout_group_id); });
        }
        check_filter<Claim>(*this, "claims.list", claims, filter, caller, {2, 7, 1000});
      }
    }
  }

  const std::vector<std::string> jurisdictions{"DE", "FR", "NL"};
};

TEST_CASE_FIXTURE(ManyGroups,
                  "lists by jurisdiction are correct while any number of groups change") {
  std::size_t changed = 0;
  for (const std::size_t count : {1U, 5U, 16U, 17U, 40U}) {
    CAPTURE(count);
    for (; changed < count; ++changed) begin_change(groups[changed], dice.pick(jurisdictions));
    begin_change(groups[dice.below(changed)], dice.pick(jurisdictions));
    check_lists();
  }
  while (true) {
    bool is_more = false;
    service.database()->write(
        [&](db::Connection& connection) { is_more = continue_jurisdiction_changes(connection); });
    if (!is_more) break;
  }
  check_lists();
  CHECK(broken_invariants(*service.database()->reader()).empty());
}

TEST_CASE_FIXTURE(ManyGroups,
                  "only groups that join a list's jurisdiction add claims to its page") {
  int changes = 0;
  for (PayoutGroup& group : groups) {
    if (group.jurisdiction == Term{"DE"}) continue;
    begin_change(group, group.jurisdiction == Term{"FR"} ? "NL" : "FR");
    ++changes;
  }
  CHECK(changes > 17);
  const std::int64_t of_all = count_claims("DE", "");
  CHECK(count_on_only_page(*this, provider, "DE", of_all + 1) == of_all);
  for (PayoutGroup& group : groups) {
    if (customer_of(group) == "zenith") begin_change(group, "DE");
  }
  const std::int64_t of_acme = count_claims("DE", "acme");
  CHECK(count_on_only_page(*this, acme, "DE", of_acme + 1) == of_acme);
  check_lists();
}

TEST_CASE_FIXTURE(ManyGroups, "lists by jurisdiction are correct while a thousand groups change") {
  std::vector<PayoutGroup> more;
  for (int i = 0; i < 1'000; ++i) {
    more.push_back(groups.front());
    more.back().id.value = generated_id(5000 + i);
  }
  store_records(*this, more);
  service.database()->write([](db::Connection& connection) {
    connection.execute(
        "INSERT INTO jurisdiction_changes (group_id, created_at, claim_key)"
        " SELECT id, -9223372036854775808, 0 FROM payout_groups WHERE key > 40");
  });
  check_lists();
  begin_change(groups[0], "FR");  // more than a list reads
  check_lists();
}

}  // namespace
}  // namespace comptroller::store
