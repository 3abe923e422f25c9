#include "service/operations.hpp"

#include <algorithm>
#include <array>

#include "json/reader.hpp"
#include "model/type_name.hpp"
#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "service/handlers.hpp"
#include "store/operator_indexes.hpp"

namespace comptroller::service {

namespace {

// A malformed id in a path names no record; in a query or body it is an invalid request.
template <Record Request>
void check_path_id(const Call& call) {
  for (const Parameter& parameter : call.parameters) {
    if (parameter.name == "id" && !Scalar<bare<decltype(Request::id)>>::parse(parameter.value)) {
      throw Error(Code::not_found, "there is no record of this id");
    }
  }
}

// Members that both a parameter and the body name must agree.
template <Record Request>
void merge_agreeing(const Request& query, Request& request) {
  for_each_field<Request>([&]<class F>() {
    const auto& named = query.*F::member;
    auto& member = request.*F::member;
    if (!named) return;
    if (member && *member != *named) {
      throw Error::invalid(F::name, "differs between the query and the body");
    }
    member = named;
  });
}

// Whether a body may hold the request as {"address": {...}} (specification 4.4).
template <Record Request>
inline constexpr bool is_in_envelope =
    std::same_as<Request, CreateRewardAddress> || std::same_as<Request, UpdateRewardAddress>;

json::Reader& reader_of_thread() {
  thread_local json::Reader reader;
  return reader;
}

template <Record Request>
void read_body(const Call& call, json::ReadOptions options, Request& request) {
  if constexpr (is_in_envelope<Request>) options.envelope = "address";
  reader_of_thread().read(call.body.empty() ? "{}" : std::string_view(call.body), request, options);
}

// The request of a call, from its parameters and its body as the source says.
template <Record Request, RequestSource source>
Request read_request(const Call& call) {
  using enum RequestSource;
  static constexpr std::array<std::string_view, 1> path_names{"id"};
  Request request{};
  if constexpr (!has_body(source)) {
    if constexpr (source == path_id) check_path_id<Request>(call);
    if (!call.body.empty()) throw Error(Code::invalid_request, "this operation takes no body");
    read_parameters<Request>(call.parameters, request, field_names<Request>);
  } else if constexpr (source == either) {
    Request query{};
    read_parameters<Request>(call.parameters, query, field_names<Request>);
    read_body(call, {}, request);
    merge_agreeing(query, request);
  } else if constexpr (source == body) {
    read_parameters<Request>(call.parameters, request, {});
    read_body(call, {}, request);
  } else {
    check_path_id<Request>(call);
    read_parameters<Request>(call.parameters, request, path_names);
    const Id id = request.id;
    json::ReadOptions options;
    options.given_fields = path_names;
    options.may_repeat = source == id_in_both;
    read_body(call, options, request);
    if (request.id != id) {
      throw Error::field(Code::id_mismatch, "address.id",
                         "is " + request.id.value + ", but the path names " + id.value);
    }
  }
  return request;
}

// What a handler takes and answers, read off its type.
template <class Handler>
struct Signature;
template <Record A, class R>
struct Signature<A (*)(Context&, const R&)> {
  using Answered = A;
  using Request = R;
  static constexpr bool is_page = false;
};
template <Record Item, class R>
struct Signature<PageOf<Item> (*)(Context&, const R&)> {
  using Answered = Item;
  using Request = R;
  static constexpr bool is_page = true;
};

template <Record R>
std::string to_json(const R& answer, const Principal& principal) {
  return json::to_text(answer, audience_of(principal));
}

template <Record R>
std::string to_json(PageOf<R> page, const Principal&) {
  return std::move(page.json);
}

template <auto Handler>
using RequestOf = typename Signature<decltype(Handler)>::Request;

template <auto Handler, Record Request>
std::string handle(Service& service, const Principal& principal, const Operation& operation,
                   const Request& request, db::Connection& connection) {
  Context context{
      connection,           principal,      service.environment(),      service.secret(),
      service.background(), operation.name, service.environment().now()};
  return to_json(Handler(context, request), principal);
}

template <auto Handler, RequestSource source>
std::string run_read(Service& service, const Principal& principal, const Operation& operation,
                     const Call& call) {
  const auto request = read_request<RequestOf<Handler>, source>(call);
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  return handle<Handler>(service, principal, operation, request, *connection);
}

template <auto Handler, RequestSource source>
PreparedWrite prepare_write(const Operation& operation, const Principal& principal,
                            const Call& call) {
  auto request = read_request<RequestOf<Handler>, source>(call);
  std::string canonical = call.idempotency_key ? canonical_text(request, principal) : "";
  return {std::move(canonical),
          [request = std::move(request), &operation](Service& service, const Principal& caller,
                                                     db::Connection& connection) {
            return handle<Handler>(service, caller, operation, request, connection);
          }};
}

// What one parameter adds to the ranges of indexes that a page reads; see ranges_a_value.
template <Record Request>
std::optional<std::size_t> ranges_of(std::string_view parameter) {
  std::optional<std::size_t> ranges;
  for_each_field<Request>([&]<class F>() {
    if (F::name == parameter) ranges = ranges_a_value<typename F::Filter>;
  });
  return ranges;
}

// A small page that at most one filter narrows, by an index in the order of the page. Each value of
// the filter is a range of that index, for each customer whose rows are merged.
template <Record Request>
bool is_short_page(const Principal& principal, std::span<const Parameter> parameters) {
  constexpr std::int64_t most_records = 100;
  constexpr std::size_t most_ranges = 16;  // of one statement
  std::size_t ranges = 0;
  std::string_view filter;
  bool names_customer = !principal.is_operator();
  for (const Parameter& parameter : parameters) {
    if (parameter.name == "limit") {
      const auto limit = Scalar<PageLimit>::parse(parameter.value);
      if (!limit || limit->value > most_records) return false;
    }
    if (parameter.name == "customer_id") names_customer = true;
    const auto added = ranges_of<Request>(parameter.name);
    if (!added) continue;
    if (*added == 0 || (!filter.empty() && filter != parameter.name)) return false;
    filter = parameter.name;
    ranges += *added;
  }
  if (filter.empty()) ranges = 1;
  if (!names_customer) ranges *= static_cast<std::size_t>(store::most_merged_customers);
  return ranges <= most_ranges;
}

template <auto Handler, RequestSource source>
constexpr Operation row(std::string_view name, std::string_view scope, std::string_view doc) {
  using Types = Signature<decltype(Handler)>;
  using Request = typename Types::Request;
  Operation operation{name,   scope, has_body(source),     !Types::is_page,
                      source, doc,   type_name<Request>(), type_name<typename Types::Answered>()};
  if constexpr (has_body(source)) {
    operation.prepare = &prepare_write<Handler, source>;
  } else {
    operation.read = &run_read<Handler, source>;
  }
  if constexpr (Types::is_page) operation.is_short_page = &is_short_page<Request>;
  return operation;
}

template <auto Handler>
constexpr Operation read(std::string_view name, std::string_view scope, std::string_view doc) {
  constexpr bool names_record = std::derived_from<RequestOf<Handler>, ById>;
  return row<Handler, names_record ? RequestSource::path_id : RequestSource::parameters>(
      name, scope, doc);
}

}  // namespace

std::span<const Operation> operations() {
  using enum RequestSource;
  constexpr std::string_view read_identity = "identity:read_identity";
  constexpr std::string_view write_identity = "identity:write_identity";
  constexpr std::string_view read_control = "identity:read_identity_control";
  constexpr std::string_view write_control = "identity:write_identity_control";
  constexpr std::string_view read_orchestration = "orchestration:read_orchestration";
  constexpr std::string_view read_groups = "rewards:read_payout_groups";
  constexpr std::string_view write_groups = "rewards:write_payout_groups";
  constexpr std::string_view read_addresses = "rewards:read_monitoring_address";
  constexpr std::string_view write_addresses = "rewards:write_monitoring_address";
  constexpr std::string_view read_claims = "rewards:read_claims";
  static const std::array<Operation, 30> all{{
      read<&get_identity>("identities.get", read_identity,
                          "One identity with its active controls."),
      read<&list_identities>("identities.list", read_identity,
                             "Identities with their active controls."),
      row<&update_identity, id_and_body>("identities.update", write_identity,
                                         "Sets metadata or the deprecated booleans."),
      row<&put_identity, body>("identities.put", operator_write,
                               "Makes an identity, or sets what is given."),
      read<&permits>("identities.permits", read_identity,
                     "Whether an identity may do something, now or at a past time."),
      read<&get<Control>>("controls.get", read_control, "One control."),
      read<&list<Control, ListControls>>("controls.list", read_control,
                                         "Controls, active and deleted."),
      row<&create_control, body>("controls.create", write_control, "Restricts an identity."),
      row<&delete_control, either>("controls.delete", write_control, "Lifts a control."),
      read<&get<Orchestration>>("orchestrations.get", read_orchestration, "One orchestration."),
      read<&list<Orchestration, ListOrchestrations>>("orchestrations.list", read_orchestration,
                                                     "Orchestrations."),
      row<&put<Orchestration>, body>("orchestrations.put", operator_write,
                                     "Loads one orchestration."),
      read<&get<PayoutGroup>>("payout_groups.get", read_groups, "One payout group."),
      read<&list<PayoutGroup, ListPayoutGroups>>("payout_groups.list", read_groups,
                                                 "Payout groups."),
      row<&create_payout_group, body>("payout_groups.create", write_groups,
                                      "Creates a payout group."),
      row<&change<PayoutGroup, UpdatePayoutGroup, &rules::update_group>, id_and_body>(
          "payout_groups.update", write_groups, "Sets name or jurisdiction of a payout group."),
      row<&observe_payout_group, id_and_body>("payout_groups.observe", operator_write,
                                              "Records what was seen of a payout group on chain."),
      read<&get<RewardAddress>>("reward_addresses.get", read_addresses, "One reward address."),
      read<&list<RewardAddress, ListRewardAddresses>>("reward_addresses.list", read_addresses,
                                                      "Reward addresses."),
      row<&create_reward_address, body>("reward_addresses.create", write_addresses,
                                        "Registers an address for reward attribution."),
      row<&update_reward_address, id_in_both>("reward_addresses.update", write_addresses,
                                              "Sets name or payout group of a reward address."),
      row<&observe_reward_address, id_and_body>("reward_addresses.observe", operator_write,
                                                "Records the status of a reward address."),
      read<&list<Balance, ListBalances>>("balances.list", operator_read,
                                         "Recorded balances of reward addresses."),
      row<&record_balance, body>("balances.record", operator_write,
                                 "Records the balance of an address at a time."),
      read<&get<Claim>>("claims.get", read_claims, "One claim."),
      read<&list<Claim, ListClaims>>("claims.list", read_claims, "Reward claim transactions."),
      row<&put<Claim>, body>("claims.put", operator_write, "Loads one claim."),
      row<&change<Claim, SubmitClaim, &rules::submit_claim>, id_and_body>(
          "claims.submit", operator_write, "A claim was sent to its chain."),
      row<&change<Claim, ConfirmClaim, &rules::confirm_claim>, id_and_body>(
          "claims.confirm", operator_write, "The chain confirmed a claim."),
      row<&change<Claim, FailClaim, &rules::fail_claim>, id_and_body>("claims.fail", operator_write,
                                                                      "A claim failed."),
  }};
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto all = operations();
  const auto found = std::ranges::find(all, name, &Operation::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_short(const Principal& principal, std::string_view operation,
              std::span<const Parameter> parameters) {
  constexpr std::size_t most_parameters = 200;  // each may be refused by name
  if (parameters.size() > most_parameters) return false;
  const Operation* found = find_operation(operation);
  return found == nullptr || found->is_bounded || found->is_short_page(principal, parameters);
}

void require_operation_scope(const Principal& principal, const Operation& operation) {
  require_scope(principal, operation.scope, operation.is_write);
}

}  // namespace comptroller::service
