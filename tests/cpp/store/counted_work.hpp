// Counts the cost of an operation in instructions of the database's virtual machine, on two stores,
// one with ten times the rows of the other.
#pragma once

#include <doctest/doctest.h>

#include "store/brute_force.hpp"
#include "store/statements.hpp"

namespace comptroller::store {

inline constexpr int few_rows = 300;
inline constexpr int many_rows = 3000;
inline constexpr double max_growth = 1.5;  // a deeper b-tree, a longer merge
inline constexpr std::int64_t max_steps = 25'000;

using service::start;

inline std::string id_of(int kind, int number) {
  return ServiceFixture::generated_id(kind * 1'000'000 + number);
}

// A store with `count` rows of each kind. Half of them belong to acme, the others to
// `customer_count` customers; most controls are deleted.
struct Store : ServiceFixture {
  Store(int count, int customer_count) : rows(count) {
    std::vector<IdentityLine> identities;
    std::vector<Control> controls;
    std::vector<Orchestration> orchestrations;
    std::vector<PayoutGroup> groups;
    std::vector<RewardAddress> addresses;
    std::vector<Balance> balances;
    std::vector<Claim> claims;
    for (int i = 0; i < count; ++i) {
      const bool is_of_acme = i % 2 == 0 || customer_count == 1;
      const std::string customer = is_of_acme ? "acme" : "c" + at(i / 2 % customer_count);
      const Timestamp time{start.microseconds + i * 1'000'000LL};
      identities.push_back(identity(i, customer, time));
      controls.push_back(control(i, customer, time));
      orchestrations.push_back(orchestration(i, customer, time));
      groups.push_back(group(i, customer, time));
      addresses.push_back(address(i, customer, time));
      balances.push_back({{id_of(5, i / 50 * 50)}, {"1"}, time});
      claims.push_back(claim(i, customer, time));
    }
    store_records(*this, identities);
    store_records(*this, controls);
    store_records(*this, orchestrations);
    store_records(*this, groups);
    store_records(*this, addresses);
    store_records(*this, balances);
    store_records(*this, claims);
    now.microseconds += 100'000LL * 1'000'000;
  }

  static std::string at(int number) { return std::to_string(number); }
  static std::string hash_text(int number) {
    std::string digits = at(number);
    return "0x" + digits.insert(0, 64 - digits.size(), '0');
  }
  static std::string address_text(int number) {
    const std::string digits = at(100'000 + number);
    return "0x" + std::string(40 - digits.size(), '0') + digits;
  }

  static IdentityLine identity(int i, const std::string& customer, Timestamp time) {
    IdentityLine record;
    record.id = {id_of(1, i)};
    record.customer_id.value = customer;
    record.ref_id = Label{"ref-" + at(i)};
    record.created_at = time;
    record.updated_at = UpdatedAt{time};
    return record;
  }
  static Control control(int i, const std::string& customer, Timestamp time) {
    Control record;
    record.id = {id_of(2, i)};
    record.identity_id = {id_of(1, i)};
    customer_of(record) = customer;
    record.type = i % 2 == 0 ? ControlType::closed : ControlType::frozen;
    record.set_by = i % 4 < 2 ? SetBy::client : SetBy::provider;
    record.reason_code = Word{i % 3 == 0 ? "FRAUD" : "REQUEST"};
    record.created_at = time;
    // The last controls are deleted as well, so that a list of active controls must find older
    // ones.
    if (i > 200) record.deleted_at = Timestamp{time.microseconds + 1};
    return record;
  }
  static Orchestration orchestration(int i, const std::string& customer, Timestamp time) {
    Orchestration record;
    record.id = {id_of(3, i)};
    record.customer_id.value = customer;
    record.profile_id = Id{"profile-" + at(i % 7)};
    record.destination.emplace().profile.emplace().profile_id = Id{"profile-" + at(i % 5)};
    record.ref_id = Label{"ref-" + at(i % 9)};
    record.source_asset = Term{"S" + at(i % 3)};
    record.destination_asset = Term{"D" + at(i % 4)};
    record.orchestration_rule_id = Id{"rule-" + at(i % 6)};
    record.status = Word{i % 2 == 0 ? "FAILED" : "COMPLETED"};
    record.created_at = time;
    record.updated_at = UpdatedAt{time};
    return record;
  }
  static PayoutGroup group(int i, const std::string& customer, Timestamp time) {
    PayoutGroup record;
    record.id = {{id_of(4, i)}};
    customer_of(record) = customer;
    record.ledger = i % 2 == 0 ? Ledger::ethereum : Ledger::ink;
    record.asset_type = Term{"A" + at(i % 3)};
    record.jurisdiction = Term{i % 2 == 0 ? "DE" : "FR"};
    record.claimer_address = Label{address_text(i % 5)};
    record.onchain_status = Word{i % 3 == 0 ? "ACTIVE" : "UNREGISTERED"};
    record.name = Name{"group-" + at(100'000 + i)};
    record.created_at = time;
    record.updated_at = UpdatedAt{time};
    return record;
  }
  static RewardAddress address(int i, const std::string& customer, Timestamp time) {
    RewardAddress record;
    record.id = {id_of(5, i)};
    customer_of(record) = customer;
    record.ledger = i % 2 == 0 ? Ledger::ethereum : Ledger::ink;
    record.address = Label{address_text(i)};
    record.payout_group_id = {{id_of(4, i)}};
    record.created_at = time;
    return record;
  }
  static Claim claim(int i, const std::string& customer, Timestamp time) {
    Claim record;
    record.id = {id_of(6, i)};
    record.payout_group_id = {{id_of(4, i % 2 == 0 ? i % 4 : i)}};
    customer_of(record) = customer;
    record.claim_type = Word{"CLAIM_ALL"};
    record.onchain_status = static_cast<ClaimStatus>(i % 4);
    record.amount = NonNegativeAmount{"1"};
    record.tx_hash.emplace().value = hash_text(i);
    record.addresses = Addresses{{Label{address_text(i)}, Label{address_text(i + 1)}}};
    record.blockchain = Term{i % 2 == 0 ? "ethereum" : "base"};
    record.created_at = time;
    record.updated_at = UpdatedAt{time};
    return record;
  }

  int rows;
};

enum class Sorting : std::uint8_t { allowed, refused };

// Whether a line of a plan reads rows without a bound, or sorts them.
inline bool is_unbounded(const std::string& line, Sorting sorting) {
  if (line.find("USE TEMP B-TREE") != std::string::npos) return sorting == Sorting::refused;
  const bool is_of_given_values = line.find("VIRTUAL TABLE") != std::string::npos ||
                                  line.find("CONSTANT ROW") != std::string::npos;
  // Without indexes for all customers, a store has at most 16 customers.
  const bool is_of_customers = line.find("SCAN customers") != std::string::npos;
  // The places of the packed addresses of a claim.
  const bool is_of_addresses = line == "SCAN place";
  // One row for each change in progress.
  const bool is_of_changes = line == "SCAN jurisdiction_changes";
  // At most 1000 rows.
  const bool is_of_webhooks = line.starts_with("SCAN webhooks");
  // A connection looks up each table once.
  const bool is_of_schema = line == "SCAN sqlite_schema" || line == "SCAN each";
  return line.find("SCAN ") != std::string::npos && !is_of_given_values && !is_of_customers &&
         !is_of_addresses && !is_of_changes && !is_of_webhooks && !is_of_schema;
}

inline std::int64_t steps_of(const std::vector<RanStatement>& statements) {
  std::int64_t steps = 0;
  for (const RanStatement& statement : statements) steps += statement.steps;
  return steps;
}

// Checks the plans of statements, without statistics and with those that another program's ANALYZE
// may have stored.
inline void check_plans(StatementRecorder& recorder, const std::vector<RanStatement>& statements,
                        Sorting sorting = Sorting::refused) {
  for (const RanStatement& statement : statements) {
    CAPTURE(statement.sql);
    const StatementRecorder::Plans& plans = recorder.plans(statement.sql);
    for (const std::string& line : plans.usual) {
      CAPTURE(line);
      CHECK_FALSE(is_unbounded(line, sorting));
    }
    for (const std::string& other : plans.others) {
      FAIL_CHECK("statistics change how a statement is executed: ", other);
    }
  }
}

inline void check_growth(const std::vector<std::int64_t>& few,
                         const std::vector<std::int64_t>& many) {
  REQUIRE(few.size() == many.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    CAPTURE(i);
    CHECK(many[i] <= max_steps);
    CHECK(static_cast<double>(many[i]) <= max_growth * static_cast<double>(few[i]) + 100);
  }
}

}  // namespace comptroller::store
