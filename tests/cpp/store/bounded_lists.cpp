// The cost of a page does not depend on the size of the store, its history or the number of
// customers.
#include "store/counted_work.hpp"
#include "store/jurisdiction_changes.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::store {
namespace {

constexpr std::int64_t steps_per_value = 100;
constexpr const char* page_size = "10";

using Values = std::vector<std::string>;

// Values for every filter of every list. Rare values match few rows.
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

// Values for the filters that no index serves, which only the test of pages without rows has.
std::map<std::string, Values> unindexed_filters(const std::string& list) {
  const std::string middle = to_string(Timestamp{start.microseconds + 150 * 1'000'000LL});
  if (list == "controls.list") return {{"active_at", {middle}}};
  if (list != "claims.list") return {};
  return {{"tx_hash", {Store::hash_text(100)}},
          {"address", {Store::address_text(100)}},
          {"asset_type", {"A0"}},
          {"claim_schedule_id", {"nightly"}},
          {"updated_at.lt", {middle}},
          {"updated_at.lte", {middle}},
          {"updated_at.eq", {middle}},
          {"updated_at.gte", {middle}},
          {"updated_at.gt", {middle}}};
}

// Parameters that select no rows.
const std::set<std::string> no_filters{"limit", "order", "page_cursor", "customer_id",
                                       "balance_timestamp"};

// Returns the steps of the first page and of a page after a cursor, in both orders.
std::vector<std::int64_t> steps_of_pages(StatementRecorder& recorder, ServiceFixture& store,
                                         const Principal& principal, const std::string& list,
                                         const Parameters& filter) {
  std::vector<std::int64_t> steps;
  for (const char* order : {"DESC", "ASC"}) {
    Parameters page = filter;
    page.push_back({"order", order});
    page.push_back({"limit", page_size});
    std::string cursor;
    for (int number = 0; number < 2; ++number) {
      const auto ran = recorder.record(
          [&] { cursor = store.call(principal, list, page).at("/next_page_cursor"); });
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

TEST_CASE("lists: the cost of a page with any filter does not depend on the size of the store") {
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

TEST_CASE("lists: the tests have every filter") {
  for_each_list([]<class R, class Request>() {
    const std::string list = std::string(R::table) + ".list";
    for_each_field<Request>([&]<class F>() {
      CAPTURE(list);
      CAPTURE(F::name);
      const std::string name(F::name);
      const bool is_tested = filters().at(list).contains(name);
      CHECK((is_tested || no_filters.contains(name) || unindexed_filters(list).contains(name)));
      // A filter that declares that its index serves a page must be bounded.
      if (ranges_per_value<typename F::Filter>.value_or(0) > 0) CHECK(is_tested);
    });
  });
}

// Returns the steps of the most expensive page that no row meets, in both orders, of the first and
// the next page. Each visits at most 100 rows.
std::int64_t steps_of_empty_page(StatementRecorder& recorder, ServiceFixture& store,
                                 const Principal& principal, const std::string& list,
                                 const Parameters& filters) {
  const db::Lease connection = store.service.database()->reader();
  const db::Snapshot snapshot(*connection);
  std::int64_t steps = 0;
  for (const Order order : {Order::desc, Order::asc}) {
    PageQuery page{order, std::nullopt, 10, 100};
    for (int number = 0; number < 2; ++number) {
      const auto ran = recorder.record([&] {
        Listing listing = listing_of(store, *connection, principal, list, filters);
        listing.filter({"COALESCE(created_at, NULL) < ?", {Value::of(0)}});
        PageRows rows = listing.run(page);
        CHECK_FALSE(rows.step());
        page.position = rows.next_page();
      });
      check_plans(recorder, ran);
      steps = std::max(steps, steps_of(ran));
      if (!page.position) break;
    }
  }
  return steps;
}

// Returns all requests with one or two filters. `filters` has the values of each filter.
std::vector<Parameters> pairs_of(const std::map<std::string, Values>& filters) {
  std::vector<Parameters> requests;
  for (auto first = filters.begin(); first != filters.end(); ++first) {
    Parameters one;
    for (const std::string& value : first->second) one.push_back({first->first, value});
    requests.push_back(one);
    for (auto second = std::next(first); second != filters.end(); ++second) {
      Parameters two = one;
      for (const std::string& value : second->second) two.push_back({second->first, value});
      requests.push_back(two);
    }
  }
  return requests;
}

TEST_CASE("lists: the cost of a page with any filters that no row meets is bounded") {
  constexpr std::int64_t max_steps_of_visits = 7'000;
  StatementRecorder recorder;
  for (const Lister& lister :
       {Lister{"a client", 1, false}, Lister{"an operator, 100 customers", 100, true}}) {
    Store store(many_rows, lister.customers);
    for (auto [list, values] : filters()) {
      if (list == "balances.list") continue;  // has one filter, which is tested above
      values.merge(unindexed_filters(list));
      for (const Parameters& request : pairs_of(values)) {
        std::string shown = std::string(lister.name) + " " + list;
        for (const auto& [name, value] : request) shown.append(" ").append(name + "=" + value);
        CAPTURE(shown);
        CHECK(steps_of_empty_page(recorder, store, lister.is_operator ? store.provider : store.acme,
                                  list, request) <= max_steps_of_visits);
      }
    }
  }
}

TEST_CASE("lists: the cost of a page is bounded if many groups have a prefix") {
  constexpr std::int64_t max_steps_of_prefix = 40'000;  // of reading and sorting 1,000 groups
  StatementRecorder recorder;
  for (const int groups : {1'000, 1'500, many_rows}) {
    CAPTURE(groups);
    Store store(groups, 1);
    for (const Parameters& request :
         {Parameters{{"name_prefix", "group-10"}},
          Parameters{{"name_prefix", "group-10"}, {"ledger", "INK"}, {"jurisdiction", "DE"}}}) {
      CHECK(steps_of_empty_page(recorder, store, store.acme, "payout_groups.list", request) <=
            max_steps_of_prefix);
    }
  }
}

// Many rows of another customer, with one payout group, which may not be stored, and one identity.
struct OtherCustomer : ServiceFixture {
  explicit OtherCustomer(bool is_group_stored) {
    const auto time = [](int i) { return Timestamp{start.microseconds + i * 1'000'000LL}; };
    if (is_group_stored) store_records(*this, std::vector{Store::group(0, "zenith", start)});
    store_records(*this, std::vector{Store::identity(0, "zenith", start)});
    std::vector<Claim> claims;
    std::vector<RewardAddress> addresses;
    std::vector<Control> controls;
    for (int i = 0; i < many_rows; ++i) {
      claims.push_back(Store::claim(i, "zenith", time(i)));
      addresses.push_back(Store::address(i, "zenith", time(i)));
      addresses.back().ledger = Ledger::ethereum;
      controls.push_back(Store::control(i, "zenith", time(i)));
      controls.back().identity_id = {id_of(1, 0)};
      controls.back().deleted_at = Timestamp{time(i).microseconds + 1};
      claims.back().payout_group_id = {{id_of(4, 0)}};
      addresses.back().payout_group_id = claims.back().payout_group_id;
    }
    for (int i = many_rows; i < many_rows + 10; ++i) {
      claims.push_back(Store::claim(i, "acme", time(i)));
      claims.back().payout_group_id = {{id_of(4, 1)}};
      addresses.push_back(Store::address(i, "acme", time(i)));
    }
    store_records(*this, claims);
    store_records(*this, addresses);
    store_records(*this, controls);
  }
};

TEST_CASE("lists: a page visits no rows of another customer") {
  constexpr std::int64_t max_steps_of_own_rows = 1'500;  // the first page also finds the indexes
  StatementRecorder recorder;
  for (const bool is_group_stored : {false, true}) {
    CAPTURE(is_group_stored);
    OtherCustomer store(is_group_stored);
    const Parameters of_group{{"payout_group_id", id_of(4, 0)}};
    const std::vector<std::pair<const char*, Parameters>> requests{
        {"claims.list", of_group},
        {"reward_addresses.list", of_group},
        {"payout_groups.list", {{"id", id_of(4, 0)}}},
        {"controls.list", {{"identity_id", id_of(1, 0)}, {"include_deleted", "true"}}}};
    for (const auto& [list, request] : requests) {
      CAPTURE(list);
      CHECK((!is_group_stored || store.count(store.provider, list, request) > 0));
      for (const auto& [principal, customer] :
           {std::pair(&store.acme, ""), std::pair(&store.provider, "acme")}) {
        Parameters own = request;
        if (*customer != '\0') own.push_back({"customer_id", customer});
        Json page("{}");
        const auto ran = recorder.record([&] { page = store.call(*principal, list, own); });
        check_plans(recorder, ran);
        CHECK(steps_of(ran) <= max_steps_of_own_rows);
        CHECK(page.size("/items") == 0);
        CHECK(page.at("/next_page_cursor").empty());
      }
    }
  }
}

// Claims of two jurisdictions. The newest and the oldest claims belong to groups in transition.
struct Transition : ServiceFixture {
  Transition(int claims_of_large, int large_groups) {
    constexpr int other_groups = 80;
    std::vector<PayoutGroup> groups;
    std::vector<Claim> claims;
    for (int group = 0; group < large_groups + other_groups; ++group) {
      groups.push_back(Store::group(group, "acme", start));
    }
    const auto add_claims = [&](int from, int before, int count) {
      for (int i = 0; i < count * (before - from); ++i) {
        const auto number = static_cast<int>(claims.size());
        claims.push_back(Store::claim(number, "acme", {start.microseconds + number * 1'000'000LL}));
        claims.back().payout_group_id =
            groups[static_cast<std::size_t>(from + i % (before - from))].id;
      }
    };
    add_claims(0, large_groups, claims_of_large / 2);
    add_claims(large_groups, large_groups + other_groups, 10);
    add_claims(0, large_groups, claims_of_large / 2);
    store_records(*this, groups);
    store_records(*this, claims);
    groups.resize(static_cast<std::size_t>(large_groups));
    for (PayoutGroup& group : groups) large.push_back(group.id.value);
  }

  void change(const std::string& jurisdiction) {
    service.database()->write([&](db::Connection& connection) {
      Writing writing(connection);
      for (const std::string& id : large) {
        const auto stored = find<PayoutGroup>(connection, id);
        PayoutGroup changed = stored->record;
        changed.jurisdiction = Term{jurisdiction};
        update_payout_group(writing, *stored, changed);
      }
    });
  }

  std::vector<std::string> large;
};

TEST_CASE("lists: the cost of a page by jurisdiction is bounded while groups are in transition") {
  constexpr std::int64_t max_steps_of_visits = 20'000;  // of up to 16 groups and 4 statuses
  StatementRecorder recorder;
  for (const int groups : {1, 16, 30}) {
    CAPTURE(groups);
    Transition store(1'200, groups);
    // Each group leaves DE or FR for the other or NL, and then changes again.
    for (const char* next : {"FR", "NL", "DE", "FR"}) {
      CAPTURE(next);
      store.change(next);
      for (const char* jurisdiction : {"DE", "FR", "NL"}) {
        for (const Parameters& request : pairs_of({{"jurisdiction", {jurisdiction}},
                                                   {"statuses", {"PENDING"}},
                                                   {"chain", {"ethereum"}},
                                                   {"payout_group_id", {store.large.front()}}})) {
          std::string shown = jurisdiction;
          for (const auto& [name, value] : request) shown.append(" ").append(name + "=" + value);
          CAPTURE(shown);
          CHECK(steps_of_empty_page(recorder, store, store.acme, "claims.list", request) <=
                max_steps_of_visits);
        }
      }
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
    CHECK(steps(100) <= steps(1) + 100 * steps_per_value);
  }
}

}  // namespace
}  // namespace comptroller::store
