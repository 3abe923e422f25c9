#include "service/operations.hpp"

#include <algorithm>
#include <array>

#include "json/reader.hpp"
#include "model/type_name.hpp"
#include "service/handling.hpp"
#include "store/claims.hpp"
#include "store/identities.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::service {

namespace {

constexpr std::array<std::string_view, 1> path_names{"id"};

json::Reader& reader_of_thread() {
  thread_local json::Reader reader;
  return reader;
}

// A malformed id in a path names nothing; elsewhere it is a malformed request.
template <Record Request>
void check_path_id(const Call& call) {
  for (const Parameter& parameter : call.parameters) {
    if (parameter.name == "id" && !Scalar<bare<decltype(Request::id)>>::parse(parameter.value)) {
      throw Error(Code::not_found, "there is no record of this id");
    }
  }
}

// The request of a read: parameters alone.
template <Record Request>
Request read_query(const Operation& operation, const Call& call) {
  if constexpr (requires(Request query) { query.id; }) {
    if (operation.request_source == RequestSource::path_id) check_path_id<Request>(call);
  }
  if (!call.body.empty()) throw Error(Code::invalid_request, "this operation takes no body");
  Request request{};
  read_parameters<Request>(call.parameters, request, field_names<Request>);
  return request;
}

template <Record Request>
void read_body(const Call& call, const json::ReadOptions& options, Request& request) {
  reader_of_thread().read(call.body.empty() ? "{}" : std::string_view(call.body), request, options);
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

// The request of a write: its body, and the parameters that its source allows.
template <Record Request, RequestSource source>
Request read_command(const Call& call) {
  json::ReadOptions options;
  if constexpr (is_in_envelope<Request>) options.envelope = "address";
  Request request{};
  if constexpr (source == RequestSource::either) {
    Request query{};
    read_parameters<Request>(call.parameters, query, field_names<Request>);
    read_body(call, options, request);
    merge_agreeing(query, request);
  } else if constexpr (source == RequestSource::body) {
    refuse_parameters(call.parameters);
    read_body(call, options, request);
  } else {
    check_path_id<Request>(call);
    read_parameters<Request>(call.parameters, request, path_names);
    const Id id = request.id;
    options.elsewhere = path_names;
    options.may_repeat = source == RequestSource::id_in_both;
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
};
template <Record Item, class R>
struct Signature<PageOf<Item> (*)(Context&, const R&)> {
  using Answered = Item;
  using Request = R;
};

template <Record R>
std::string to_json(const R& answer, const Principal& principal) {
  return json::to_text(answer, audience_of(principal));
}

template <Record R>
std::string to_json(PageOf<R> page, const Principal&) {
  return std::move(page.json);
}

// Everything a handler works with.
Context make_context(Service& service, const Principal& principal, const Operation& operation,
                     db::Connection& connection) {
  return {connection,           principal,      service.environment(),      service.secret(),
          service.background(), operation.name, service.environment().now()};
}

template <auto Handler>
std::string run_read(Service& service, const Principal& principal, const Operation& operation,
                     const Call& call) {
  using Request = typename Signature<decltype(Handler)>::Request;
  const auto request = read_query<Request>(operation, call);
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  Context context = make_context(service, principal, operation, *connection);
  return to_json(Handler(context, request), principal);
}

template <auto Handler, RequestSource source>
PreparedWrite prepare_write(const Operation& operation, const Principal& principal,
                            const Call& call) {
  using Request = typename Signature<decltype(Handler)>::Request;
  auto request = read_command<Request, source>(call);
  std::string canonical = call.idempotency_key ? canonical_text(request, principal) : "";
  return {std::move(canonical),
          [request = std::move(request), &operation](Service& service, const Principal& caller,
                                                     db::Connection& connection) {
            Context context = make_context(service, caller, operation, connection);
            return to_json(Handler(context, request), caller);
          }};
}

template <auto Handler>
constexpr Operation row(std::string_view name, std::string_view scope, bool is_write,
                        RequestSource source, std::string_view doc) {
  using Types = Signature<decltype(Handler)>;
  constexpr std::string_view request = type_name<typename Types::Request>();
  constexpr std::string_view answer = type_name<typename Types::Answered>();
  return {name, scope, is_write, source, doc, request, answer};
}

template <auto Handler>
constexpr Operation read(std::string_view name, std::string_view scope, RequestSource source,
                         std::string_view doc) {
  Operation operation = row<Handler>(name, scope, false, source, doc);
  operation.read = &run_read<Handler>;
  return operation;
}

template <auto Handler, RequestSource source>
constexpr Operation write(std::string_view name, std::string_view scope, std::string_view doc) {
  Operation operation = row<Handler>(name, scope, true, source, doc);
  operation.prepare = &prepare_write<Handler, source>;
  return operation;
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
      read<&get_identity>("identities.get", read_identity, path_id,
                          "One identity with its active controls."),
      read<&list_identities>("identities.list", read_identity, parameters,
                             "Identities with their active controls."),
      write<&update_identity, id_and_body>("identities.update", write_identity,
                                           "Sets metadata or the deprecated booleans."),
      write<&put_identity, body>("identities.put", operator_write,
                                 "Makes an identity, or sets what is given."),
      read<&permits>("identities.permits", read_identity, path_id,
                     "Whether an identity may do something, now or at a past moment."),
      read<&get<Control>>("controls.get", read_control, path_id, "One control."),
      read<&list<Control, ListControls, &store::controls_listing>>(
          "controls.list", read_control, parameters, "Controls, active and deleted."),
      write<&create_control, body>("controls.create", write_control, "Restricts an identity."),
      write<&delete_control, either>("controls.delete", write_control, "Lifts a control."),
      read<&get<Orchestration>>("orchestrations.get", read_orchestration, path_id,
                                "One orchestration."),
      read<&list<Orchestration, ListOrchestrations, &store::orchestrations_listing>>(
          "orchestrations.list", read_orchestration, parameters, "Orchestrations."),
      write<&put<Orchestration>, body>("orchestrations.put", operator_write,
                                       "Loads one orchestration."),
      read<&get<PayoutGroup>>("payout_groups.get", read_groups, path_id, "One payout group."),
      read<&list<PayoutGroup, ListPayoutGroups, &store::payout_groups_listing>>(
          "payout_groups.list", read_groups, parameters, "Payout groups."),
      write<&create_payout_group, body>("payout_groups.create", write_groups,
                                        "Creates a payout group."),
      write<&update_payout_group, id_and_body>("payout_groups.update", write_groups,
                                               "Sets name or jurisdiction of a payout group."),
      write<&observe_payout_group, id_and_body>(
          "payout_groups.observe", operator_write,
          "Records what was seen of a payout group on chain."),
      read<&get<RewardAddress>>("reward_addresses.get", read_addresses, path_id,
                                "One reward address."),
      read<&list_reward_addresses>("reward_addresses.list", read_addresses, parameters,
                                   "Reward addresses."),
      write<&create_reward_address, body>("reward_addresses.create", write_addresses,
                                          "Registers an address for reward attribution."),
      write<&update_reward_address, id_in_both>("reward_addresses.update", write_addresses,
                                                "Sets name or payout group of a reward address."),
      write<&observe_reward_address, id_and_body>("reward_addresses.observe", operator_write,
                                                  "Records the status of a reward address."),
      read<&list_balances>("balances.list", operator_read, parameters,
                           "Recorded balances of reward addresses."),
      write<&record_balance, body>("balances.record", operator_write,
                                   "Records what an address held at a moment."),
      read<&get<Claim>>("claims.get", read_claims, path_id, "One claim."),
      read<&list<Claim, ListClaims, &store::claims_listing>>("claims.list", read_claims, parameters,
                                                             "Reward claim transactions."),
      write<&put<Claim>, body>("claims.put", operator_write, "Loads one claim."),
      write<&submit_claim, id_and_body>("claims.submit", operator_write,
                                        "A claim was sent to its chain."),
      write<&confirm_claim, id_and_body>("claims.confirm", operator_write,
                                         "The chain confirmed a claim."),
      write<&fail_claim, id_and_body>("claims.fail", operator_write, "A claim failed."),
  }};
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto all = operations();
  const auto found = std::ranges::find(all, name, &Operation::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_short(const Principal&, const Call&) {
  return true;
}

void require_operation_scope(const Principal& principal, const Operation& operation) {
  require_scope(principal, operation.scope, operation.is_write);
}

}  // namespace comptroller::service
