// Bounded work: what an operation costs does not depend on the size of the store, its history or
// the number of customers. Counted in instructions of the database's virtual machine, on two stores
// of which one has ten times the rows of the other.
#include <doctest/doctest.h>

#include "store/brute_force.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/payout_groups.hpp"
#include "store/statements.hpp"

namespace comptroller::store {
namespace {

constexpr int few_rows = 300;
constexpr int many_rows = 3000;
constexpr double most_growth = 1.5;  // a deeper b-tree, a longer merge
constexpr std::int64_t most_steps = 25'000;
constexpr std::int64_t steps_a_value = 100;
constexpr const char* page_size = "10";

using service::start;

std::string id_of(int kind, int number) {
  return World::made_id(kind * 1'000'000 + number);
}

// A store of `count` rows of each kind. Half of them are of acme, the others of that many
// customers; most controls are deleted.
struct Store : World {
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
    arrive(*this, identities);
    arrive(*this, controls);
    arrive(*this, orchestrations);
    arrive(*this, groups);
    arrive(*this, addresses);
    arrive(*this, balances);
    arrive(*this, claims);
    now.microseconds += 100'000LL * 1'000'000;
  }

  static std::string at(int number) { return std::to_string(number); }
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
    // The last are deleted as well, so that a list of active controls has to find older ones.
    if (i > 200) record.deleted_at.value = Timestamp{time.microseconds + 1};
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
    record.blockchain = Term{i % 2 == 0 ? "ethereum" : "base"};
    record.created_at = time;
    record.updated_at = UpdatedAt{time};
    return record;
  }

  int rows;
};

using Values = std::vector<std::string>;

// A value, or several, for every filter of every list. Few rows match where few ever do.
const std::map<std::string, std::map<std::string, Values>>& filters() {
  const std::string middle = to_string(Timestamp{start.microseconds + 150 * 1'000'000LL});
  static const std::map<std::string, Values> bounds{{"created_at.lt", {middle}},
                                                    {"created_at.lte", {middle}},
                                                    {"created_at.eq", {middle}},
                                                    {"created_at.gte", {middle}},
                                                    {"created_at.gt", {middle}}};
  const auto with_bounds = [](std::map<std::string, Values> more) {
    more.insert(bounds.begin(), bounds.end());
    return more;
  };
  static const std::map<std::string, std::map<std::string, Values>> all{
      {"identities.list", with_bounds({{"control_types", {"CLOSED", "FROZEN"}},
                                       {"control_reason_codes", {"FRAUD"}},
                                       {"ref_id", {"ref-100"}}})},
      {"controls.list", with_bounds({{"identity_id", {id_of(1, 100)}},
                                     {"include_deleted", {"true"}},
                                     {"type", {"CLOSED"}},
                                     {"set_by", {"CLIENT", "PROVIDER"}},
                                     {"reason_code", {"FRAUD", "REQUEST"}}})},
      {"orchestrations.list",
       with_bounds({{"orchestration_rule_id", {"rule-0", "rule-1"}},
                    {"source_asset", {"S0", "S1"}},
                    {"destination_asset", {"D0"}},
                    {"status", {"FAILED"}},
                    {"orchestration_id", {id_of(3, 0), id_of(3, 100), id_of(3, 200)}},
                    {"profile_id", {"profile-0", "profile-1"}},
                    {"ref_id", {"ref-0"}}})},
      {"payout_groups.list",
       {{"id", {id_of(4, 100)}},
        {"ledger", {"INK"}},
        {"asset_type", {"A0"}},
        {"jurisdiction", {"DE"}},
        {"claimer_address", {Store::address_text(0)}},
        {"onchain_status", {"ACTIVE", "UNREGISTERED"}},
        {"name_prefix", {"group-1001"}}}},
      {"reward_addresses.list",
       {{"ledger", {"ETHEREUM"}},
        {"address", {Store::address_text(100)}},
        {"id", {id_of(5, 100)}},
        {"payout_group_id", {id_of(4, 100)}},
        {"include_balance", {"true"}}}},
      {"balances.list", {{"address_id", {id_of(5, 0)}}}},
      {"claims.list",
       {{"payout_group_id", {id_of(4, 0)}},
        {"statuses", {"PENDING", "FAILED"}},
        {"chain", {"ethereum"}},
        {"jurisdiction", {"DE"}},
        {"start_time", {middle}},
        {"end_time", {middle}},
        {"id", {id_of(6, 100)}}}}};
  return all;
}

// Those without a bound, or that select no rows.
const std::set<std::string> not_held{"limit",       "order",     "page_cursor",
                                     "customer_id", "active_at", "balance_timestamp"};

enum class Sorting : std::uint8_t { allowed, refused };

// A line of a plan that reads rows without a bound, or sorts them.
bool is_unbounded(const std::string& line, Sorting sorting) {
  if (line.find("USE TEMP B-TREE") != std::string::npos) return sorting == Sorting::refused;
  const bool is_of_given_values = line.find("VIRTUAL TABLE") != std::string::npos ||
                                  line.find("CONSTANT ROW") != std::string::npos;
  // Without indexes for all customers there are at most 16 of these.
  const bool is_of_customers = line.find("SCAN customers") != std::string::npos;
  // A row for each change in progress.
  const bool is_of_changes = line == "SCAN jurisdiction_changes";
  return line.find("SCAN ") != std::string::npos && !is_of_given_values && !is_of_customers &&
         !is_of_changes;
}

std::int64_t steps_of(const std::vector<RanStatement>& statements) {
  std::int64_t steps = 0;
  for (const RanStatement& statement : statements) steps += statement.steps;
  return steps;
}

void check_plans(StatementRecorder& recorder, const std::vector<RanStatement>& statements,
                 Sorting sorting = Sorting::refused) {
  for (const RanStatement& statement : statements) {
    CAPTURE(statement.sql);
    for (const std::string& line : recorder.plan(statement.sql)) {
      CAPTURE(line);
      CHECK_FALSE(is_unbounded(line, sorting));
    }
  }
}

void check_growth(const std::vector<std::int64_t>& few, const std::vector<std::int64_t>& many) {
  REQUIRE(few.size() == many.size());
  for (std::size_t i = 0; i < few.size(); ++i) {
    CAPTURE(i);
    CHECK(many[i] <= most_steps);
    CHECK(static_cast<double>(many[i]) <= most_growth * static_cast<double>(few[i]) + 100);
  }
}

// The steps of the first page and of one behind a cursor, in both orders.
std::vector<std::int64_t> steps_of_pages(StatementRecorder& recorder, World& store,
                                         const Principal& who, const std::string& list,
                                         const Parameters& filter) {
  std::vector<std::int64_t> steps;
  for (const char* order : {"DESC", "ASC"}) {
    Parameters page = filter;
    page.push_back({"order", order});
    page.push_back({"limit", page_size});
    std::string cursor;
    for (int number = 0; number < 2; ++number) {
      const auto ran =
          recorder.record([&] { cursor = store.call(who, list, page).at("/next_page_cursor"); });
      check_plans(recorder, ran);
      steps.push_back(steps_of(ran));
      if (cursor.empty()) break;
      page.push_back({"page_cursor", cursor});
    }
  }
  return steps;
}

struct Lister {
  const char* name;
  int customers;
  bool is_operator;
};

TEST_CASE("lists: a page of every filter costs the same whatever the size of the store") {
  StatementRecorder recorder;
  for (const Lister& lister :
       {Lister{"a client", 1, false}, Lister{"an operator, 1 customer", 1, true},
        Lister{"an operator, 100 customers", 100, true}}) {
    Store small(few_rows, lister.customers);
    Store large(many_rows, lister.customers);
    for (const auto& [list, values] : filters()) {
      const bool is_for_operators = list == "balances.list";
      if (is_for_operators && !lister.is_operator) continue;
      std::vector<Parameters> requests{{}};
      for (const auto& [name, given] : values) {
        Parameters& request = requests.emplace_back();
        for (const std::string& value : given) request.push_back({name, value});
      }
      for (const Parameters& request : requests) {
        const std::string shown = std::string(lister.name) + " " + list + " " +
                                  (request.empty() ? "" : request.front().name);
        CAPTURE(shown);
        const auto few = steps_of_pages(
            recorder, small, lister.is_operator ? small.provider : small.acme, list, request);
        const auto many = steps_of_pages(
            recorder, large, lister.is_operator ? large.provider : large.acme, list, request);
        check_growth(few, many);
      }
    }
  }
}

TEST_CASE("lists: the test above holds every filter") {
  for_each_list([]<class R, class Request>() {
    const std::string list = std::string(R::table) + ".list";
    for_each_field<Request>([&]<class F>() {
      CAPTURE(list);
      CAPTURE(F::name);
      const std::string name(F::name);
      const bool is_held = filters().at(list).contains(name);
      CHECK((is_held || not_held.contains(name)));
      // What declares that its index serves a page alone is held to it.
      if (ranges_a_value<typename F::Filter>.value_or(0) > 0) CHECK(is_held);
    });
  });
}

// A group with so many claims on its way from DE to FR, half of them rewritten, and in either
// jurisdiction that many others with ten older claims each.
struct Transition : World {
  Transition(int claim_count, int others) {
    std::vector<PayoutGroup> groups;
    std::vector<Claim> claims;
    const auto add_claim = [&](int group) {
      const auto number = static_cast<int>(claims.size());
      claims.push_back(Store::claim(number, "acme", {start.microseconds + number * 1'000'000LL}));
      claims.back().payout_group_id = groups[static_cast<std::size_t>(group)].id;
    };
    for (int group = 0; group <= 2 * others; ++group) {
      groups.push_back(Store::group(group, "acme", start));
      groups.back().jurisdiction = Term{group % 2 == 0 ? "DE" : "FR"};
    }
    for (int claim = 0; claim < 20 * others; ++claim) add_claim(1 + claim % (2 * others));
    for (int claim = 0; claim < claim_count; ++claim) add_claim(0);
    arrive(*this, groups);
    arrive(*this, claims);
    service.database()->write([&](db::Connection& connection) {
      const auto stored = find<PayoutGroup>(connection, groups.front().id.value);
      PayoutGroup changed = stored->record;
      changed.jurisdiction = Term{"FR"};
      update_payout_group(connection, *stored, changed);
      for (int part = 1; part < claim_count / 1000; ++part) {
        CHECK(continue_jurisdiction_changes(connection));
      }
    });
  }
};

// The jurisdiction that a group is leaving is bounded up to 100 groups.
TEST_CASE("lists: a page by jurisdiction costs the same however many claims are in transition") {
  StatementRecorder recorder;
  for (const int others : {40, 150}) {
    CAPTURE(others);
    Transition small(2'000, others);
    Transition large(20'000, others);
    for (const char* jurisdiction : {"DE", "FR"}) {
      if (others > 100 && *jurisdiction == 'D') continue;
      CAPTURE(jurisdiction);
      const Parameters request{{"jurisdiction", jurisdiction}};
      check_growth(steps_of_pages(recorder, small, small.acme, "claims.list", request),
                   steps_of_pages(recorder, large, large.acme, "claims.list", request));
    }
  }
}

TEST_CASE("lists: the cost of a page grows slowly with the number of a filter's values") {
  StatementRecorder recorder;
  Store store(many_rows, 1);
  const auto number = [](int i) { return Store::at(i); };
  const std::vector<std::pair<const char*, std::function<std::string(int)>>> made{
      {"orchestration_rule_id", [&](int i) { return "rule-" + number(i); }},
      {"source_asset", [&](int i) { return "S" + number(i); }},
      {"destination_asset", [&](int i) { return "D" + number(i); }},
      {"status", [&](int i) { return i == 0 ? "FAILED" : "S_" + number(i); }},
      {"orchestration_id", [](int i) { return id_of(3, 10 * i); }},
      {"profile_id", [&](int i) { return "profile-" + number(i); }},
      {"ref_id", [&](int i) { return "ref-" + number(i); }}};
  for (const auto& [name, value] : made) {
    CAPTURE(name);
    const auto steps = [&](int count) {
      Parameters request{{"limit", page_size}};
      for (int i = 0; i < count; ++i) request.push_back({name, value(i)});
      const auto ran =
          recorder.record([&] { store.call(store.provider, "orchestrations.list", request); });
      check_plans(recorder, ran);
      return steps_of(ran);
    };
    CHECK(steps(100) <= steps(1) + 100 * steps_a_value);
  }
}

TEST_CASE("an operation on one record costs the same whatever the size of the store") {
  StatementRecorder recorder;
  Store small(few_rows, 1);
  Store large(many_rows, 1);
  const std::string claim = id_of(6, 100);  // PENDING, as every fourth
  const std::string at = R"("at":"2026-03-02T00:00:00Z")";
  struct Case {
    const char* operation;
    Parameters parameters;
    std::string body;
  };
  // One line an operation; the order matters only to the claim.
  const std::vector<Case> cases{
      {"identities.get", {{"id", id_of(1, 100)}}, ""},
      {"controls.get", {{"id", id_of(2, 100)}}, ""},
      {"orchestrations.get", {{"id", id_of(3, 100)}}, ""},
      {"payout_groups.get", {{"id", id_of(4, 100)}}, ""},
      {"payout_groups.create",
       {},
       R"({"ledger":"ETHEREUM","asset_type":"A0","jurisdiction":"DE","name":"new",)"
       R"("claimer_address":"0x0000000000000000000000000000000000000001"})"},
      {"payout_groups.observe", {{"id", id_of(4, 100)}}, R"({"balance":"2"})"},
      {"payout_groups.update", {{"id", id_of(4, 100)}}, R"({"name":"renamed"})"},
      {"reward_addresses.get", {{"id", id_of(5, 100)}}, ""},
      {"reward_addresses.create",
       {},
       R"({"ledger":"XLAYER","address":"0x0000000000000000000000000000000000000001"})"},
      {"reward_addresses.update", {{"id", id_of(5, 100)}}, R"({"name":"renamed"})"},
      {"reward_addresses.observe", {{"id", id_of(5, 100)}}, R"({"status":"ACTIVE"})"},
      {"balances.record",
       {},
       R"({"address_id":")" + id_of(5, 0) + R"(","balance":"3",)" + at + "}"},
      {"claims.get", {{"id", claim}}, ""},
      {"claims.submit", {{"id", claim}}, R"({"tx_hash":"0xab"})"},
      {"claims.confirm", {{"id", claim}}, "{}"},
      {"claims.fail", {{"id", id_of(6, 104)}}, R"({"error_message":"no"})"},
  };
  for (const Case& one : cases) {
    const std::string operation(one.operation);
    CAPTURE(operation);
    const auto steps = [&](Store& store) {
      const auto ran = recorder.record(
          [&] { store.call(store.provider, one.operation, one.parameters, one.body); });
      check_plans(recorder, ran, Sorting::allowed);
      return steps_of(ran);
    };
    check_growth({steps(small)}, {steps(large)});
  }
}

}  // namespace
}  // namespace comptroller::store
