// Two stores that differ only in the records of other customers answer every request of a client
// with equal bytes and equal work: the same statements with the same number of VM steps.
//
// The records that both stores have lie on both sides of the client's in every index, because
// SQLite needs one step fewer at the end of an index.
#include "db/folder.hpp"
#include "service/operations.hpp"
#include "store/counted_work.hpp"
#include "store/payout_groups.hpp"
#include "store/webhooks.hpp"
#include "store/writing.hpp"

namespace comptroller::store {
namespace {

constexpr int own_rows = 5'700;    // a group and an identity with more than a page visits
constexpr int webhooks = 12;       // of a customer
constexpr int group_claims = 600;  // more than a change of a jurisdiction rewrites at once

// A customer with records whose ids begin with `first` and whose texts begin with `word`.
struct Tenant {
  std::string customer;
  std::string word;
  int first;
  int rows;

  std::string id(int kind, int number = 0) const { return id_of(kind, first + number); }
  std::string text(const std::string& what) const { return word + "_" + what; }
  Timestamp time(int number) const {
    return {start.microseconds + number * 1'000'000LL + first};  // between those of others
  }
};
const Tenant lower{"default", "LOWER", 0, 20};
const Tenant own{"acme", "OWN", 100'000, own_rows};
const Tenant upper{"zenith", "UPPER", 900'000, 20};
// Only one of the two stores has the records of the first, and none those of the second.
const Tenant foreign{"globex", "FOREIGN", 500'000, 1'200};
const Tenant nobody{"nobody", "NOBODY", 600'000, 0};

void store_webhooks(ServiceFixture& store, const Tenant& tenant) {
  store.service.database()->write([&](db::Connection& connection) {
    for (int i = 0; i < std::min(tenant.rows, webhooks); ++i) {
      Webhook webhook;
      webhook.id = {tenant.id(7, i)};
      webhook.url.value = "https://hooks.example.com/" + tenant.word;
      webhook.event_types = {Label{"*"}};
      webhook.created_at = tenant.time(i);
      webhook.secret_changed_at = webhook.created_at;
      webhook.updated_at = UpdatedAt{webhook.created_at};
      customer_of(webhook) = tenant.customer;
      Writing writing(connection);
      insert_webhook(writing, webhook, "secret");
    }
  });
}

void store_tenant(ServiceFixture& store, const Tenant& tenant) {
  std::vector<IdentityLine> identities;
  std::vector<Control> controls;
  std::vector<Orchestration> orchestrations;
  std::vector<PayoutGroup> groups;
  std::vector<RewardAddress> addresses;
  std::vector<Claim> claims;
  for (int i = 0; i < tenant.rows; ++i) {
    const int number = tenant.first + i;
    const Timestamp time = tenant.time(i);
    identities.push_back(Store::identity(number, tenant.customer, time));
    identities.back().ref_id = Label{tenant.text("REF")};
    // An active control of each identity, and the deleted controls of the first.
    for (const bool is_deleted : {false, true}) {
      Control& control = controls.emplace_back(Store::control(number, tenant.customer, time));
      control.reason_code = Word{tenant.text("REASON")};
      control.deleted_at.reset();
      if (!is_deleted) continue;
      control.id = {id_of(7, number)};
      control.identity_id = {tenant.id(1)};
      control.deleted_at = Timestamp{time.microseconds + 1};
    }
    Orchestration& orchestration =
        orchestrations.emplace_back(Store::orchestration(number, tenant.customer, time));
    orchestration.profile_id = Id{tenant.text("PROFILE")};
    orchestration.destination->profile->profile_id = Id{tenant.text("PROFILE")};
    orchestration.ref_id = Label{tenant.text("REF")};
    orchestration.source_asset = Term{tenant.text("SOURCE")};
    orchestration.destination_asset = Term{tenant.text("DESTINATION")};
    orchestration.orchestration_rule_id = Id{tenant.text("RULE")};
    orchestration.status = Word{tenant.text("STATUS")};
    groups.push_back(Store::group(number, tenant.customer, time));
    groups.back().ledger = Ledger::ethereum;
    groups.back().asset_type = Term{tenant.text("ASSET")};
    groups.back().jurisdiction = Term{tenant.text("LAND")};
    groups.back().claimer_address = Label{Store::address_text(tenant.first)};
    groups.back().onchain_status = Word{tenant.text("STATE")};
    groups.back().name = Name{tenant.text("NAME")};
    addresses.push_back(Store::address(number, tenant.customer, time));
    addresses.back().ledger = Ledger::ethereum;
    addresses.back().payout_group_id = {{tenant.id(4)}};
    claims.push_back(Store::claim(number, tenant.customer, time));
    claims.back().payout_group_id = {{tenant.id(4, i < group_claims ? 1 : 0)}};
    claims.back().blockchain = Term{tenant.text("CHAIN")};
    claims.back().asset_type = Term{tenant.text("ASSET")};
    claims.back().claim_schedule_id = Term{tenant.text("SCHEDULE")};
  }
  store_records(store, identities);
  store_records(store, controls);
  store_records(store, orchestrations);
  store_records(store, groups);
  store_records(store, addresses);
  store_records(store, claims);
  store_webhooks(store, tenant);
}

// Leaves a group in transition to a jurisdiction.
void begin_change(ServiceFixture& store, const Tenant& tenant, const std::string& jurisdiction) {
  store.service.database()->write([&](db::Connection& connection) {
    const auto stored = find<PayoutGroup>(connection, tenant.id(4, 1));
    PayoutGroup changed = stored->record;
    changed.jurisdiction = Term{jurisdiction};
    Writing writing(connection);
    CHECK_FALSE(update_payout_group(writing, *stored, changed));
  });
}

// More groups in transition than a list reads.
void begin_many_changes(ServiceFixture& store, const Tenant& tenant) {
  store.service.database()->write([&](db::Connection& connection) {
    connection.run(
        "INSERT OR IGNORE INTO jurisdiction_changes (group_id, created_at, claim_key, customer_id)"
        " SELECT id, 0, 0, customer_id FROM payout_groups WHERE customer_id ="
        " (SELECT key FROM symbols WHERE text = ?)",
        std::string_view(tenant.customer));
  });
}

// What a client can see of a call.
struct Seen {
  std::string answer;  // or the refusal
  std::vector<std::pair<std::string, std::int64_t>> work;
};

struct Request {
  std::string operation;
  Parameters parameters;
  std::string body = {};
  std::optional<std::string> key = {};

  std::string shown() const {
    std::string text = operation + ' ' + body;
    for (const auto& [name, value] : parameters) text.append(" ").append(name + "=" + value);
    return text;
  }
};

Seen see(StatementRecorder& recorder, ServiceFixture& store, const Request& request) {
  Seen seen;
  const auto ran = recorder.record([&] {
    const service::Refusal refusal = service::refusal_of([&] {
      seen.answer =
          store.answer(store.acme, request.operation, request.parameters, request.body, request.key)
              .body;
    });
    seen.answer += refusal.code + refusal.detail + refusal.field + refusal.existing;
  });
  for (const RanStatement& statement : ran) seen.work.emplace_back(statement.sql, statement.steps);
  return seen;
}

// Equal stores, then other customers with records in one of them.
struct Stores {
  explicit Stores(int other_customers) {
    {
      ServiceFixture base(db::sqlite::open(path("alone"), {}));
      for (const Tenant& tenant : {lower, own, upper}) store_tenant(base, tenant);
      // Texts and ids that are less than those of the requests.
      base.put_identity("0", "default");
    }
    std::filesystem::copy_file(path("alone"), path("shared"));
    {
      ServiceFixture others(db::sqlite::open(path("shared"), {}));
      store_tenant(others, foreign);
      others.put_identity("foreign", "globex");
      for (int i = 0; i < other_customers; ++i)
        others.put_identity(id_of(9, i), "c" + Store::at(i));
    }
    alone = std::make_unique<ServiceFixture>(db::sqlite::open(path("alone"), {}));
    shared = std::make_unique<ServiceFixture>(db::sqlite::open(path("shared"), {}));
    for (ServiceFixture* store : {alone.get(), shared.get()}) {
      store->now.microseconds += 100'000LL * 1'000'000;
      // The first write after opening reads a hash of the journal for each bit of its size.
      store->put_identity("first", "default");
    }
  }

  std::string path(const char* name) const { return folder / name; }

  // Whether the work is equal as well, unless it is not compared.
  void check_equal(const Request& request, bool is_work_compared = true) {
    const Seen a = see(recorder, *alone, request);
    const Seen b = see(recorder, *shared, request);
    const std::string shown = request.shown();
    CAPTURE(shown);
    CHECK(a.answer == b.answer);
    if (!is_work_compared || a.work == b.work) return;
    const auto [one, other] = std::ranges::mismatch(a.work, b.work);
    const std::string expected = one == a.work.end() ? "" : one->first;
    const std::string found = other == b.work.end() ? "" : other->first;
    CAPTURE(expected);
    CAPTURE(found);
    CHECK((one == a.work.end() ? 0 : one->second) == (other == b.work.end() ? 0 : other->second));
    CHECK(expected == found);
  }

  db::Folder folder;
  StatementRecorder recorder;
  std::unique_ptr<ServiceFixture> alone;
  std::unique_ptr<ServiceFixture> shared;
};

using Values = std::vector<std::string>;

// The values of a text filter that a tenant's records have.
Values texts_of(const std::string& list, const std::string& filter, const Tenant& tenant) {
  static const std::map<std::string, std::string> words{{"control_reason_codes", "REASON"},
                                                        {"reason_code", "REASON"},
                                                        {"ref_id", "REF"},
                                                        {"orchestration_rule_id", "RULE"},
                                                        {"source_asset", "SOURCE"},
                                                        {"destination_asset", "DESTINATION"},
                                                        {"status", "STATUS"},
                                                        {"profile_id", "PROFILE"},
                                                        {"asset_type", "ASSET"},
                                                        {"jurisdiction", "LAND"},
                                                        {"onchain_status", "STATE"},
                                                        {"name_prefix", "NAME"},
                                                        {"chain", "CHAIN"},
                                                        {"claim_schedule_id", "SCHEDULE"}};
  static const std::map<std::string, int> kinds{
      {"identity_id", 1},           {"orchestration_id", 3},         {"payout_group_id", 4},
      {"payout_groups.list id", 4}, {"reward_addresses.list id", 5}, {"claims.list id", 6}};
  if (const auto word = words.find(filter); word != words.end()) return {tenant.text(word->second)};
  for (const std::string& name : {filter, list + ' ' + filter}) {
    if (const auto kind = kinds.find(name); kind != kinds.end()) return {tenant.id(kind->second)};
  }
  if (filter == "tx_hash") return {Store::hash_text(tenant.first)};
  if (filter == "claimer_address") return {Store::address_text(tenant.first)};
  // Whether another customer registered an address is not secret: registering it is refused.
  if (filter == "address") return {Store::address_text(tenant.first == own.first ? own.first : 1)};
  FAIL("the test has no values for a filter: ", list, " ", filter);
  return {};
}

// The declared filters of a list, each with the alternatives that are compared.
template <Record R, Record ListRequest>
std::map<std::string, std::vector<Values>> filters_of() {
  const std::string list = std::string(R::table) + ".list";
  std::map<std::string, std::vector<Values>> filters;
  for_each_field<ListRequest>([&]<class F>() {
    using T = typename F::Type;
    const std::string name(F::name);
    if (std::ranges::find(field_names<Paging>, F::name) != field_names<Paging>.end()) return;
    std::vector<Values>& values = filters[name];
    if constexpr (std::same_as<bare<T>, Timestamp>) {
      values = {{to_string(own.time(own_rows / 2))}};
    } else if constexpr (std::same_as<bare<T>, bool>) {
      values = {{"true"}};
    } else if constexpr (!is_array<T> && ClosedSet<bare<T>>) {
      values = {{std::string(enum_texts<bare<T>>.front())}};
    } else if constexpr (is_array<T>) {
      using Element = typename T::value_type;
      if constexpr (ClosedSet<Element>) {
        values = {{std::string(enum_texts<Element>[0]), std::string(enum_texts<Element>[1])}};
      } else {
        const auto of = [&](const Tenant& tenant) { return texts_of(list, name, tenant).front(); };
        values = {{of(own)}, {of(foreign)}, {of(own), of(foreign)}, {of(foreign), of(nobody)}};
      }
    } else if (name == "customer_id") {
      values = {{"acme"}, {"globex"}, {"nobody"}};
    } else {
      for (const Tenant& tenant : {own, foreign}) values.push_back(texts_of(list, name, tenant));
    }
  });
  return filters;
}

// Calls `check` with every list with at most two of the values.
template <class Check>
void for_each_request(const Check& check) {
  for_each_list([&]<Record R, Record ListRequest>() {
    const std::string list = std::string(R::table) + ".list";
    if (service::find_operation(list)->scope == service::operator_read) return;
    const auto filters = filters_of<R, ListRequest>();
    const auto add = [](Parameters& parameters, const std::string& name, const Values& values) {
      for (const std::string& value : values) parameters.push_back({name, value});
    };
    check(Request{list, {}});
    for (auto first = filters.begin(); first != filters.end(); ++first) {
      for (const Values& values : first->second) {
        Parameters one;
        add(one, first->first, values);
        check(Request{list, one});
        for (auto second = std::next(first); second != filters.end(); ++second) {
          for (const Values& more : second->second) {
            Parameters two = one;
            add(two, second->first, more);
            check(Request{list, two});
          }
        }
      }
    }
  });
}

void check_lists(Stores& stores) {
  stores.check_equal({"claims.list", {}}, false);  // reads the schema once
  for_each_request([&](Request request) {
    request.parameters.push_back({"limit", "5"});
    stores.check_equal(request);
    request.parameters.push_back({"order", "ASC"});
    stores.check_equal(request);
  });
}

TEST_CASE("tenants: lists of a client do not depend on the records of another customer") {
  Stores stores(0);
  check_lists(stores);
  // Pages that continue after 5,000 rows, none of which matched.
  const Request request{"claims.list",
                        {{"payout_group_id", own.id(4)}, {"chain", foreign.text("CHAIN")}}};
  CHECK(stores.alone->call(stores.alone->acme, request.operation, request.parameters)
            .at("/next_page_cursor") != "");
}

TEST_CASE("tenants: lists of a client do not depend on the number of customers") {
  Stores stores(30);  // the operator's lists then have indexes of their own
  check_lists(stores);
}

TEST_CASE("tenants: lists of claims do not depend on the groups of others in transition") {
  Stores stores(0);
  for (ServiceFixture* store : {stores.alone.get(), stores.shared.get()}) {
    for (const Tenant& tenant : {lower, upper}) begin_many_changes(*store, tenant);
  }
  begin_change(*stores.shared, foreign, foreign.text("NEXT"));
  begin_many_changes(*stores.shared, foreign);
  const auto check_claims = [&] {
    for (const char* order : {"DESC", "ASC"}) {
      for (const std::string& jurisdiction :
           {own.text("LAND"), own.text("NEXT"), foreign.text("LAND"), foreign.text("NEXT"),
            nobody.text("LAND")}) {
        for (const Parameters& more :
             {Parameters{}, {{"statuses", "PENDING"}}, {{"payout_group_id", own.id(4)}}}) {
          Parameters parameters{{"jurisdiction", jurisdiction}, {"order", order}, {"limit", "5"}};
          parameters.insert(parameters.end(), more.begin(), more.end());
          stores.check_equal({"claims.list", parameters});
        }
      }
    }
  };
  check_claims();
  for (ServiceFixture* store : {stores.alone.get(), stores.shared.get()}) {
    begin_change(*store, own, own.text("NEXT"));
  }
  check_claims();
}

// Every operation of a client that is not a list, on a record of the tenant.
std::vector<Request> requests_on(const Tenant& tenant) {
  const auto member = [](const std::string& name, const std::string& value) {
    return '"' + name + R"(":")" + value + '"';
  };
  const std::string address = Store::address_text(50'000 + tenant.first / 1000);
  const std::string control = R"("type":"DORMANT",)" + member("reason_code", own.text("REASON"));
  std::vector<Request> requests{
      {"identities.get", {{"id", tenant.id(1, 7)}}},
      {"identities.get", {{"id", "foreign"}}},
      {"identities.get", {{"id", "nobody"}}},
      {"identities.permits", {{"id", tenant.id(1, 7)}, {"action", "SELL"}}},
      {"identities.permits",
       {{"id", tenant.id(1, 7)}, {"action", "SELL"}, {"at", to_string(start)}}},
      {"identities.update", {{"id", tenant.id(1, 7)}}, R"({"user_disabled":true})"},
      {"identities.update", {{"id", tenant.id(1, 7)}}, R"({"metadata":{"k":"v"}})"},
      {"controls.create", {}, '{' + member("identity_id", tenant.id(1, 7)) + ',' + control + '}'},
      {"controls.get", {{"id", tenant.id(2, 7)}}},
      {"controls.delete", {{"control_id", tenant.id(2, 8)}}},
      {"controls.delete", {}, '{' + member("id", tenant.id(2, 9)) + '}'},
      {"controls.delete",
       {},
       '{' + member("id", own.id(2, 11)) + ',' + member("identity_id", tenant.id(1, 11)) + '}'},
      {"orchestrations.get", {{"id", tenant.id(3, 7)}}},
      {"payout_groups.get", {{"id", tenant.id(4, 7)}}},
      {"payout_groups.create",
       {},
       R"({"ledger":"ETHEREUM",)" + member("asset_type", own.text("ASSET")) + ',' +
           member("jurisdiction", own.text("LAND")) + R"(,"name":"new",)" +
           member("claimer_address", address) + '}'},
      {"payout_groups.create", {}, '{' + member("customer_id", tenant.customer) + '}'},
      {"payout_groups.update", {{"id", tenant.id(4, 7)}}, R"({"name":"Taken"})"},
      {"payout_groups.update", {{"id", tenant.id(4, 7)}}, "{}"},
      {"reward_addresses.get", {{"id", tenant.id(5, 7)}}},
      {"reward_addresses.create",
       {},
       R"({"ledger":"ETHEREUM",)" + member("address", address) + ',' +
           member("payout_group_id", tenant.id(4, 7)) + '}'},
      {"reward_addresses.update", {{"id", tenant.id(5, 7)}}, R"({"name":"Taken"})"},
      {"reward_addresses.update",
       {{"id", own.id(5, 7)}},
       '{' + member("payout_group_id", tenant.id(4, 7)) + '}'},
      {"claims.get", {{"id", tenant.id(6, 7)}}},
      {"webhooks.list", {{"customer_id", tenant.customer}}},
      {"webhooks.get", {{"id", tenant.id(7, 7)}}},
      {"webhooks.create",
       {},
       R"({"url":"https://hooks.example.com",)" + member("customer_id", tenant.customer) + '}'},
      {"webhooks.update", {{"id", tenant.id(7, 7)}}, "{}"},
      {"webhooks.delete", {{"id", tenant.id(7, 7)}}, "{}"},
      {"webhooks.secret", {{"id", tenant.id(7, 7)}}},
      {"webhooks.rotate", {{"id", tenant.id(7, 7)}}, "{}"},
      {"webhooks.test", {{"id", tenant.id(7, 7)}}, "{}"},
      {"webhooks.deliveries", {{"id", tenant.id(7, 7)}}},
      {"webhooks.replay", {{"id", tenant.id(7, 7)}}, R"({"since":"2026-03-01"})"}};
  const std::size_t count = requests.size();
  for (std::size_t i = 0; i < count; ++i) {  // again, and under the key of another customer
    Request again = requests[i];
    if (service::find_operation(again.operation)->is_write) again.key = "key" + std::to_string(i);
    requests.push_back(std::move(again));
  }
  return requests;
}

TEST_CASE("tenants: other operations of a client do not depend on another customer") {
  for (const int other_customers : {0, 30}) {
    CAPTURE(other_customers);
    Stores stores(other_customers);
    const Principal globex = service::make_principal("globex", "globex-app", {});
    for (int i = 0; i < 50; ++i) {
      stores.shared->answer(globex, "identities.update", {{"id", foreign.id(1, 3)}}, "{}",
                            "key" + std::to_string(i));
    }
    stores.check_equal({"claims.list", {}}, false);
    stores.check_equal({"identities.get", {{"id", own.id(1)}}}, false);
    // The first write of a connection reads the schema, too.
    stores.check_equal({"identities.update", {{"id", own.id(1, 3)}}, "{}"}, false);
    for (const Tenant& tenant : {foreign, nobody, own}) {
      for (const Request& request : requests_on(tenant)) {
        // A write maintains the indexes of the operator's lists.
        const bool is_write = service::find_operation(request.operation)->is_write;
        stores.check_equal(request, !is_write || other_customers == 0);
      }
    }
  }
}

TEST_CASE("tenants: the test above has every operation of a client that is not a list") {
  std::set<std::string> held;
  for (const Request& request : requests_on(own)) held.insert(request.operation);
  for (const service::Operation& operation : service::operations()) {
    CAPTURE(operation.name);
    // tenant_feeds.cpp checks the change feed. The numbers of entries count everyone's writes.
    const bool is_of_journal = operation.name == "changes.list" ||
                               operation.name == "journal.list" ||
                               operation.name == "journal.prove";
    const bool is_of_client = !is_of_journal && !operation.scope.starts_with("operator:");
    CHECK(held.contains(operation.name) == (is_of_client && !operation.is_list));
  }
}

}  // namespace
}  // namespace comptroller::store
