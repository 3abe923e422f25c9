#include <doctest/doctest.h>

#include "store/brute_force.hpp"

namespace comptroller::store {
namespace {

// More customers than an operator's list merges, with indexes over all customers.
struct ManyCustomers : ServiceFixture {
  Dice dice{5};
  std::vector<Orchestration> orchestrations;
  std::vector<IdentityLine> identities;
  std::vector<Control> controls;
  std::vector<Claim> claims;

  ManyCustomers() {
    for (int i = 0; i < 230; ++i) {
      const std::string number = std::to_string(i);
      Orchestration orchestration;
      orchestration.id = Id{"o" + number};
      orchestration.customer_id.value = "customer-" + number;
      orchestration.status = Word{i % 3 == 0 ? "FAILED" : "COMPLETED"};
      orchestration.profile_id = dice.maybe<Id>({"p1", "p2"});
      orchestration.created_at = dice.instant();
      orchestrations.push_back(orchestration);
      IdentityLine identity;
      identity.id = Id{"i" + number};
      identity.customer_id.value = "customer-" + number;
      identity.created_at = dice.instant();
      identities.push_back(identity);
      Control control;
      control.id = Id{"c" + number};
      control.identity_id = identity.id;
      customer_of(control) = "customer-" + number;
      control.type = i % 2 == 0 ? ControlType::closed : ControlType::frozen;
      control.created_at = dice.instant();
      controls.push_back(control);
      Claim claim;
      claim.id = Id{"cl" + number};
      claim.payout_group_id.value = generated_id(1000 + i);
      customer_of(claim) = "customer-" + number;
      claim.claim_type = Word{"CLAIM_ALL"};
      claim.onchain_status = static_cast<ClaimStatus>(i % 4);
      claim.amount = NonNegativeAmount{"1"};
      claim.created_at = dice.instant();
      claims.push_back(claim);
    }
    store_records(*this, orchestrations);
    store_records(*this, identities);
    store_records(*this, controls);
    store_records(*this, claims);
  }

  template <class R, class Records>
  void check(const std::string& list, const Records& records,
             const Filter<typename Records::value_type>& filter) {
    check_filter<R>(*this, list, records, filter, {&provider, {}, ""}, large_pages);
    check_filter<R>(*this, list, records, filter,
                    {&provider, {{"customer_id", "customer-7"}}, "customer-7"}, large_pages);
  }
};

TEST_CASE_FIXTURE(ManyCustomers, "an operator lists hundreds of customers like one") {
  check<Orchestration>("orchestrations.list", orchestrations, {});
  check<StoredIdentity>("identities.list", identities, {});
  check<Claim>("claims.list", claims, {});
}

TEST_CASE_FIXTURE(ManyCustomers, "an operator's filters work over hundreds of customers") {
  Filter<Orchestration> by_status;
  by_status.among("status", {"FAILED"}, [](const Orchestration& o) { return text_of(o.status); });
  check<Orchestration>("orchestrations.list", orchestrations, by_status);
  Filter<Orchestration> by_profile;
  by_profile.among("profile_id", {"p1", "p2"},
                   [](const Orchestration& o) { return text_of(o.profile_id); });
  by_profile.bound("created_at.gte", Dice::instants()[3],
                   [](Timestamp a, Timestamp b) { return a >= b; });
  check<Orchestration>("orchestrations.list", orchestrations, by_profile);
  Filter<Claim> by_claim_status;
  by_claim_status.among("statuses", {"PENDING", "FAILED"},
                        [](const Claim& claim) { return text_of(claim.onchain_status); });
  check<Claim>("claims.list", claims, by_claim_status);
  Filter<Control> by_type;
  by_type.among("type", {"CLOSED"}, [](const Control& control) { return text_of(control.type); });
  check<Control>("controls.list", controls, by_type);
}

TEST_CASE_FIXTURE(ManyCustomers, "identities by their controls, over hundreds of customers") {
  Filter<IdentityLine> filter;
  filter.among("control_types", {"FROZEN", "DORMANT"}, [this](const IdentityLine& identity) {
    const std::size_t number = std::stoul(identity.id.value.substr(1));
    return text_of(controls[number].type);
  });
  check<StoredIdentity>("identities.list", identities, filter);
}

TEST_CASE_FIXTURE(
    ManyCustomers,
    "without the indexes over all customers a list merges the rows of each customer") {
  service.database()->write(
      [](db::Connection& connection) { connection.execute("DELETE FROM operator_indexes"); });
  check<Orchestration>("orchestrations.list", orchestrations, {});
  check<StoredIdentity>("identities.list", identities, {});
  Filter<Control> by_type;
  by_type.among("type", {"CLOSED"}, [](const Control& control) { return text_of(control.type); });
  check<Control>("controls.list", controls, by_type);
}

}  // namespace
}  // namespace comptroller::store
