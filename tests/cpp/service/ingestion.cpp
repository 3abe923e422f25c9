#include "service/ingestion.hpp"

#include <doctest/doctest.h>

#include "service/maintenance.hpp"
#include "service/service_fixture.hpp"
#include "store/writing.hpp"

namespace comptroller::service {
namespace {

constexpr const char* group_id = "00000000-0000-7000-8000-00000000aaaa";

struct Loaded : ServiceFixture {
  // Takes one line like a load with `customer`.
  template <class R>
  std::string take(R line, const std::string& customer = "acme") {
    return refusal_of([&] {
             service.database()->write([&](db::Connection& connection) {
               store::Writing writing(connection);
               Ingestion ingestion(writing, provider, customer, now, service.environment().make_id);
               outcome = ingestion.take(line);
               ingestion.finish();
             });
           })
        .code;
  }
  Json shown(const std::string& list) { return call(provider, list, {{"order", "ASC"}}); }
  bool is_sound() { return Json(check(service, provider)).at("/ok") == "true"; }

  Outcome outcome = Outcome::unchanged;
};

IdentityLine identity(const std::string& id) {
  IdentityLine line;
  line.id = Id{id};
  line.created_at = start;
  line.updated_at = UpdatedAt{start};
  return line;
}

Control control(const std::string& id, const std::string& of, ControlType type,
                SetBy set_by = SetBy::client) {
  Control line;
  line.id = Id{id};
  line.identity_id = Id{of};
  line.type = type;
  line.set_by = set_by;
  line.is_overridable = true;
  line.created_at = start;
  return line;
}

RewardAddress address(const std::string& id) {
  RewardAddress line;
  line.id.value = id;
  line.address = Label{"0x00000000000000000000000000000000000000aa"};
  line.created_at = start;
  return line;
}

PayoutGroup group(Ledger ledger = Ledger::ethereum) {
  PayoutGroup line;
  line.id.value = group_id;
  line.ledger = ledger;
  line.created_at = start;
  line.updated_at = UpdatedAt{start};
  return line;
}

Claim claim(const std::string& id) {
  Claim line;
  line.id = Id{id};
  line.payout_group_id.value = group_id;
  line.claim_type = Word{"CLAIM_ALL"};
  line.amount = NonNegativeAmount{"1"};
  line.created_at = start;
  line.updated_at = UpdatedAt{start};
  return line;
}

TEST_CASE_FIXTURE(Loaded, "a line equal to a stored record changes nothing") {
  CHECK(take(identity("i")).empty());
  CHECK(outcome == Outcome::inserted);
  CHECK(take(identity("i")).empty());
  CHECK(outcome == Outcome::unchanged);
  CHECK(take(identity("i"), "zenith") == "already-exists");
  IdentityLine later = identity("i");
  later.updated_at.microseconds += 1;
  later.ref_id = Label{"r"};
  CHECK(take(later).empty());
  CHECK(outcome == Outcome::updated);
  CHECK(shown("identities.list").at("/items/0/ref_id") == "r");
}

TEST_CASE_FIXTURE(Loaded, "a loaded boolean creates its control once, and never deletes it") {
  IdentityLine line = identity("i");
  line.user_disabled = true;
  line.admin_disabled = true;
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::inserted);
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::unchanged);
  line.user_disabled = false;
  line.admin_disabled.reset();
  CHECK(take(line).empty());
  CHECK(count(provider, "controls.list") == 2);
  const std::string id = shown("controls.list").at("/items/0/id");
  call(provider, "controls.delete", {{"id", id}});
  line.user_disabled = true;
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::updated);
  CHECK(count(provider, "controls.list") == 2);
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Loaded, "a loaded control replaces one that a boolean created") {
  IdentityLine line = identity("i");
  line.user_disabled = true;
  take(line);
  CHECK(take(control("c", "i", ControlType::sell_only)).empty());
  CHECK(shown("controls.list").each("/items", "id") == std::vector<std::string>{"c"});
  CHECK(count(provider, "controls.list", {{"include_deleted", "true"}}) == 1);
  CHECK(take(control("d", "i", ControlType::sell_only)) == "already-exists");
  CHECK(take(control("e", "i", ControlType::sell_only, SetBy::provider)).empty());
  Control past = control("f", "i", ControlType::sell_only);
  past.deleted_at = start;
  CHECK(take(past).empty());
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Loaded, "a control creates an implied identity until its own line comes") {
  CHECK(take(control("c", "i", ControlType::closed)).empty());
  CHECK(shown("identities.list").at("/items/0/status") == "DISABLED");
  CHECK(take(identity("i"), "zenith") == "already-exists");
  IdentityLine line = identity("i");
  line.created_at = Timestamp{0};
  line.ref_id = Label{"r"};
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::inserted);
  CHECK(shown("identities.list").at("/items/0/created_at") == "1970-01-01T00:00:00.000000Z");
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::unchanged);
  CHECK(take(control("d", "i", ControlType::dormant), "zenith") == "already-exists");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Loaded, "a line can delete a stored control once") {
  take(control("c", "i", ControlType::closed));
  Control line = control("c", "i", ControlType::closed);
  line.deleted_at = now;
  line.deleted_by = Label{"acme-app"};
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::updated);
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::unchanged);
  CHECK(take(control("c", "i", ControlType::closed)) == "already-exists");
}

TEST_CASE_FIXTURE(Loaded, "members that a line of an address omits keep their values") {
  CHECK(take(group()).empty());
  RewardAddress line = address("00000000-0000-7000-8000-00000000bbbb");
  line.payout_group_id = GroupId{{group_id}};
  line.name = Name{"Mine"};
  CHECK(take(line).empty());
  call(provider, "reward_addresses.observe", {{"id", line.id.value}}, R"({"status":"ACTIVE"})");
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::unchanged);
  CHECK(take(address(line.id.value)).empty());
  CHECK(outcome == Outcome::unchanged);
  const Json stored = call(provider, "reward_addresses.get", {{"id", line.id.value}});
  CHECK(stored.at("/status") == "ACTIVE");
  CHECK(stored.at("/name") == "Mine");
  CHECK(stored.at("/payout_group_id") == group_id);
  line.status = Word{"GONE"};
  CHECK(take(line).empty());
  CHECK(outcome == Outcome::updated);
}

TEST_CASE_FIXTURE(Loaded, "an address and its group agree, in any order of arrival") {
  RewardAddress line = address("00000000-0000-7000-8000-00000000bbbb");
  line.payout_group_id = GroupId{{group_id}};
  CHECK(take(line).empty());
  CHECK(take(group(Ledger::ink)) == "ledger-mismatch");
  CHECK(take(group(), "zenith") == "already-exists");
  CHECK(take(group()).empty());
  RewardAddress other = address("00000000-0000-7000-8000-00000000cccc");
  CHECK(take(other) == "already-exists");  // the address is already registered
  other.ledger = Ledger::ink;
  other.payout_group_id = GroupId{{group_id}};
  CHECK(take(other) == "ledger-mismatch");
  other.ledger = Ledger::ethereum;
  other.address = Label{"0x00000000000000000000000000000000000000ab"};
  CHECK(take(other, "zenith") == "already-exists");
  PayoutGroup moved = group(Ledger::ink);
  moved.updated_at.microseconds += 1;
  CHECK(take(moved) == "ledger-mismatch");
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Loaded, "a claim and its group agree, in any order of arrival") {
  Claim line = claim("c");
  line.onchain_status = ClaimStatus::confirmed;
  line.confirmed_at = start;
  CHECK(take(line).empty());
  CHECK(take(group(), "zenith") == "already-exists");
  PayoutGroup its = group();
  its.jurisdiction = Term{"DE"};
  CHECK(take(its).empty());
  CHECK(shown("payout_groups.list").at("/items/0/last_claim_all_at") == to_string(start));
  CHECK(count(provider, "claims.list", {{"jurisdiction", "DE"}}) == 1);
  CHECK(take(its).empty());  // although the claim has raised the stored group meanwhile
  CHECK(outcome == Outcome::unchanged);
  CHECK(take(claim("d"), "zenith") == "already-exists");
  CHECK(take(claim("d")).empty());
  CHECK(take(claim("c")) == "illegal-transition");
  Claim moved = claim("d");
  moved.onchain_status = ClaimStatus::confirmed;
  moved.confirmed_at = Timestamp{start.microseconds + 5};
  moved.updated_at.microseconds += 5;
  CHECK(take(moved).empty());
  CHECK(outcome == Outcome::updated);
  CHECK(shown("payout_groups.list").at("/items/0/last_claim_all_at") ==
        to_string(*moved.confirmed_at));
  PayoutGroup later = its;
  later.updated_at.microseconds += 9;
  later.jurisdiction.reset();
  CHECK(take(later).empty());
  CHECK(outcome == Outcome::updated);
  CHECK(count(provider, "claims.list", {{"jurisdiction", "DE"}}) == 0);
  CHECK(is_sound());
}

TEST_CASE_FIXTURE(Loaded, "a line without a customer gets the customer of the load") {
  Claim named = claim("c");
  customer_of(named) = "zenith";
  CHECK(take(named).empty());
  CHECK(take(claim("d"), "default").empty());
  CHECK(count(zenith, "claims.list") == 1);
  CHECK(count(provider, "claims.list", {{"customer_id", "default"}}) == 1);
}

}  // namespace
}  // namespace comptroller::service
