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

// A malformed id in a path is not found; in a query or body it is an invalid request.
template <Record Request>
void check_path_id(const Call& call) {
  for (const Parameter& parameter : call.parameters) {
    if (parameter.name == "id" && !Scalar<bare<decltype(Request::id)>>::parse(parameter.value)) {
      throw Error(Code::not_found, "there is no record of this id");
    }
  }
}

// A member in both a parameter and the body must have the same value in both.
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

// The member of a body that may contain the request, as {"address": {...}} (specification 4.4).
template <Record Request>
inline constexpr std::string_view envelope_of =
    std::same_as<Request, CreateRewardAddress> || std::same_as<Request, UpdateRewardAddress>
        ? "address"
        : "";

json::Reader& reader_of_thread() {
  thread_local json::Reader reader;
  return reader;
}

template <Record Request>
void read_body(const Call& call, json::ReadOptions options, Request& request) {
  options.envelope = envelope_of<Request>;
  reader_of_thread().read(call.body.empty() ? "{}" : std::string_view(call.body), request, options);
}

// Reads the request of a call from its parameters and its body, as `source` states.
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

// The types of a handler's request and answer.
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
                     const Call& call, db::Connection& snapshot) {
  const auto request = read_request<RequestOf<Handler>, source>(call);
  return handle<Handler>(service, principal, operation, request, snapshot);
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

// The number of index ranges that one parameter adds to a page; see ranges_a_value.
template <Record Request>
std::optional<std::size_t> ranges_of(std::string_view parameter) {
  std::optional<std::size_t> ranges;
  for_each_field<Request>([&]<class F>() {
    if (F::name == parameter) ranges = ranges_a_value<typename F::Filter>;
  });
  return ranges;
}

// Whether a page is small and narrowed by at most one filter, which an index in the order of the
// page serves. Each value of the filter adds a range of that index for each customer whose rows are
// merged.
template <Record Request>
bool is_short_page(const Principal& principal, std::span<const Parameter> parameters) {
  constexpr std::int64_t max_records = 100;
  constexpr std::size_t max_ranges = 16;  // of one statement
  std::size_t ranges = 0;
  std::string_view filter;
  bool names_customer = !principal.is_operator();
  for (const Parameter& parameter : parameters) {
    if (parameter.name == "limit") {
      const auto limit = Scalar<PageLimit>::parse(parameter.value);
      if (!limit || limit->value > max_records) return false;
    }
    if (parameter.name == "customer_id") names_customer = true;
    const auto added = ranges_of<Request>(parameter.name);
    if (!added) continue;
    if (*added == 0 || (!filter.empty() && filter != parameter.name)) return false;
    filter = parameter.name;
    ranges += *added;
  }
  if (filter.empty()) ranges = 1;
  if (!names_customer) ranges *= static_cast<std::size_t>(store::max_merged_customers);
  return ranges <= max_ranges;
}

// Completes a row of the table with the properties that follow from its handler.
template <auto Handler, RequestSource source>
Operation row(Operation operation) {
  using Types = Signature<decltype(Handler)>;
  using Request = typename Types::Request;
  operation.is_write = has_body(source);
  operation.is_bounded = !Types::is_page;
  operation.is_list = Types::is_page;
  operation.request_source = source;
  operation.request = type_name<Request>();
  operation.answer = type_name<typename Types::Answered>();
  if constexpr (has_body(source)) {
    operation.body_envelope = envelope_of<Request>;
    operation.prepare = &prepare_write<Handler, source>;
  } else {
    operation.method = "GET";
    operation.read = &run_read<Handler, source>;
  }
  if constexpr (Types::is_page) operation.is_short_page = &is_short_page<Request>;
  return operation;
}

template <auto Handler>
Operation read(Operation operation) {
  constexpr bool names_record = std::derived_from<RequestOf<Handler>, ById>;
  return row<Handler, names_record ? RequestSource::path_id : RequestSource::parameters>(
      std::move(operation));
}

constexpr ErrorCase unknown_id{Code::not_found,
                               "no record has this id, or it belongs to another customer"};
constexpr ErrorCase for_operator{Code::insufficient_scope, "the caller is not the operator"};
constexpr ErrorCase other_cursor{Code::invalid_cursor,
                                 "the cursor belongs to another list, or is damaged"};
constexpr ErrorCase other_customer{Code::customer_not_accessible,
                                   "a client named another customer"};
// For operations that store a record as a load of one line would.
constexpr ErrorCase stored_differs{Code::already_exists,
                                   "the stored record has other content and the same or a later "
                                   "updated_at, or another created_at or another customer"};

std::vector<Operation> make_operations() {
  using enum RequestSource;
  using enum Code;
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
  return {
      read<&get_identity>({.name = "identities.get",
                           .scope = read_identity,
                           .paths = {"/v2/identity/identities/{id}"},
                           .summary = "Returns one identity with its active controls.",
                           .errors = {unknown_id}}),
      read<&list_identities>({.name = "identities.list",
                              .scope = read_identity,
                              .paths = {"/v2/identity/identities"},
                              .summary = "Lists identities with their active controls.",
                              .errors = {other_cursor, other_customer}}),
      row<&update_identity, id_and_body>(
          {.name = "identities.update",
           .scope = write_identity,
           .method = "PUT",
           .paths = {"/v2/identity/identities/{id}"},
           .summary = "Sets the metadata or the deprecated booleans of an identity.",
           .details = "Omitted members keep their values.",
           .errors =
               {unknown_id,
                {control_not_overridable, "a client set admin_disabled"},
                {already_exists,
                 "a control of that type and setter with another is_overridable is active"}}}),
      row<&put_identity, body>(
          {.name = "identities.put",
           .scope = operator_write,
           .method = "PUT",
           .paths = {"/operator/identity/identities"},
           .summary = "Creates an identity, or sets the given members of an existing one.",
           .details = "Operator only.",
           .errors = {for_operator,
                      {already_exists,
                       "the identity belongs to another customer, or a control of that type "
                       "and setter with another is_overridable is active"}}}),
      read<&permits>({.name = "identities.permits",
                      .scope = read_identity,
                      .paths = {"/v2/identity/identities/{id}/permits"},
                      .summary = "Returns whether the active controls permit an action.",
                      .errors = {unknown_id}}),
      read<&get<Control>>({.name = "controls.get",
                           .scope = read_control,
                           .paths = {"/v2/identity/controls/{id}"},
                           .summary = "Returns one control, active or deleted.",
                           .errors = {unknown_id}}),
      read<&list<Control, ListControls>>(
          {.name = "controls.list",
           .scope = read_control,
           .paths = {"/v2/identity/controls"},
           .summary = "Lists controls, by default only active controls.",
           .errors = {other_cursor, other_customer}}),
      row<&create_control, body>(
          {.name = "controls.create",
           .scope = write_control,
           .method = "POST",
           .paths = {"/v2/identity/controls", "/operator/identity/controls"},
           .summary = "Creates a control, which restricts an identity.",
           .details = "Clients can delete a control that a client created.",
           .errors = {{control_type_not_permitted, "a client set FROZEN"},
                      {not_found, "the identity does not exist"},
                      {already_exists,
                       "a control of this type and setter is active; `existing` is its id"}}}),
      row<&delete_control, either>(
          {.name = "controls.delete",
           .scope = write_control,
           .method = "DELETE",
           .paths = {"/v2/identity/controls", "/operator/identity/controls"},
           .summary = "Deletes a control, and returns it with deleted_at.",
           .errors = {{not_found, "the control does not exist, or it belongs to another identity"},
                      {control_not_overridable, "a client may not delete this control"},
                      {already_deleted, "the control is already deleted"}}}),
      read<&get<Orchestration>>({.name = "orchestrations.get",
                                 .scope = read_orchestration,
                                 .paths = {"/v2/orchestration/orchestrations/{id}"},
                                 .summary = "Returns one orchestration.",
                                 .errors = {unknown_id}}),
      read<&list<Orchestration, ListOrchestrations>>({.name = "orchestrations.list",
                                                      .scope = read_orchestration,
                                                      .paths = {"/v2/orchestration/orchestrations"},
                                                      .summary = "Lists orchestrations.",
                                                      .errors = {other_cursor, other_customer}}),
      row<&put<Orchestration>, body>(
          {.name = "orchestrations.put",
           .scope = operator_write,
           .method = "PUT",
           .paths = {"/operator/orchestration/orchestrations"},
           .summary = "Stores one orchestration, as a load of one line would.",
           .details = "Operator only. A newer orchestration replaces the stored one.",
           .errors = {for_operator, stored_differs}}),
      read<&get<PayoutGroup>>(
          {.name = "payout_groups.get",
           .scope = read_groups,
           .paths = {"/rewards/payout-groups/{id}", "/v2/rewards/payout-groups/{id}"},
           .summary = "Returns one payout group.",
           .errors = {unknown_id},
           .envelope = "group"}),
      read<&list<PayoutGroup, ListPayoutGroups>>(
          {.name = "payout_groups.list",
           .scope = read_groups,
           .paths = {"/rewards/payout-groups", "/v2/rewards/payout-groups"},
           .summary = "Lists payout groups.",
           .errors = {other_cursor, other_customer}}),
      row<&create_payout_group, body>(
          {.name = "payout_groups.create",
           .scope = write_groups,
           .method = "POST",
           .paths = {"/rewards/payout-groups", "/v2/rewards/payout-groups"},
           .summary = "Creates a payout group with status UNREGISTERED and balance 0.",
           .errors = {other_customer},
           .envelope = "group"}),
      row<&change<PayoutGroup, UpdatePayoutGroup, &rules::update_group>, id_and_body>(
          {.name = "payout_groups.update",
           .scope = write_groups,
           .method = "PUT",
           .paths = {"/rewards/payout-groups/{id}", "/v2/rewards/payout-groups/{id}"},
           .summary = "Sets the name or jurisdiction of a payout group.",
           .errors = {unknown_id},
           .envelope = "group"}),
      row<&observe_payout_group, id_and_body>(
          {.name = "payout_groups.observe",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/payout-groups/{id}/observe"},
           .summary = "Records the observed on-chain state of a payout group.",
           .details = "Operator only.",
           .errors = {unknown_id, for_operator},
           .envelope = "group"}),
      read<&get<RewardAddress>>({.name = "reward_addresses.get",
                                 .scope = read_addresses,
                                 .paths = {"/rewards/addresses/{id}", "/v2/rewards/addresses/{id}"},
                                 .summary = "Returns one reward address, without its balance.",
                                 .errors = {unknown_id},
                                 .envelope = "address"}),
      read<&list<RewardAddress, ListRewardAddresses>>(
          {.name = "reward_addresses.list",
           .scope = read_addresses,
           .paths = {"/rewards/addresses", "/v2/rewards/addresses"},
           .summary = "Lists reward addresses.",
           .errors = {other_cursor, other_customer}}),
      row<&create_reward_address, body>(
          {.name = "reward_addresses.create",
           .scope = write_addresses,
           .method = "POST",
           .paths = {"/rewards/addresses", "/v2/rewards/addresses"},
           .summary = "Registers an address for reward attribution.",
           .errors = {other_customer,
                      {ledger_mismatch, "the payout group is on another ledger"},
                      {not_found, "the payout group does not exist"},
                      {already_exists,
                       "the address is registered; `existing` is its id if the caller may see "
                       "it"}},
           .envelope = "address"}),
      row<&update_reward_address, id_in_both>(
          {.name = "reward_addresses.update",
           .scope = write_addresses,
           .method = "PUT",
           .paths = {"/rewards/addresses/{id}", "/v2/rewards/addresses/{id}"},
           .summary = "Sets the name or payout group of a reward address.",
           .details = "A change of the payout group sets the status to PENDING.",
           .errors = {{ledger_mismatch, "the payout group is on another ledger"},
                      {not_found, "the address or the payout group does not exist"}},
           .envelope = "address"}),
      row<&observe_reward_address, id_and_body>(
          {.name = "reward_addresses.observe",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/addresses/{id}/observe"},
           .summary = "Records the observed status of a reward address.",
           .details = "Operator only.",
           .errors = {unknown_id, for_operator},
           .envelope = "address"}),
      read<&list<Balance, ListBalances>>({.name = "balances.list",
                                          .scope = operator_read,
                                          .paths = {"/operator/rewards/balances"},
                                          .summary = "Lists recorded balances in order of time.",
                                          .details = "Operator only.",
                                          .errors = {other_cursor, for_operator}}),
      row<&record_balance, body>(
          {.name = "balances.record",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/balances"},
           .summary = "Records the balance of a reward address at a time.",
           .details = "Operator only.",
           .errors = {for_operator,
                      {not_found, "the reward address does not exist"},
                      {already_exists, "another balance is recorded for that time"}}}),
      read<&get<Claim>>({.name = "claims.get",
                         .scope = read_claims,
                         .paths = {"/rewards/claims/{id}", "/v2/rewards/claims/{id}"},
                         .summary = "Returns one claim.",
                         .errors = {unknown_id}}),
      read<&list<Claim, ListClaims>>({.name = "claims.list",
                                      .scope = read_claims,
                                      .paths = {"/rewards/claims", "/v2/rewards/claims"},
                                      .summary = "Lists reward claims.",
                                      .errors = {other_cursor, other_customer}}),
      row<&put<Claim>, body>(
          {.name = "claims.put",
           .scope = operator_write,
           .method = "PUT",
           .paths = {"/operator/rewards/claims"},
           .summary = "Stores one claim, as a load of one line would.",
           .details = "Operator only. A newer claim replaces the stored one.",
           .errors = {for_operator,
                      stored_differs,
                      {illegal_transition, "the stored status cannot change to the new status"},
                      {already_exists, "the payout group belongs to another customer"}}}),
      row<&change<Claim, SubmitClaim, &rules::submit_claim>, id_and_body>(
          {.name = "claims.submit",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/claims/{id}/submit"},
           .summary = "Changes a claim from PENDING to SUBMITTED.",
           .details = "Operator only.",
           .errors = {unknown_id, for_operator, {illegal_transition, "the claim is not PENDING"}}}),
      row<&change<Claim, ConfirmClaim, &rules::confirm_claim>, id_and_body>(
          {.name = "claims.confirm",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/claims/{id}/confirm"},
           .summary = "Changes a claim from SUBMITTED to CONFIRMED.",
           .details = "Operator only.",
           .errors = {unknown_id,
                      for_operator,
                      {illegal_transition, "the claim is not SUBMITTED"}}}),
      row<&change<Claim, FailClaim, &rules::fail_claim>, id_and_body>(
          {.name = "claims.fail",
           .scope = operator_write,
           .method = "POST",
           .paths = {"/operator/rewards/claims/{id}/fail"},
           .summary = "Changes a claim from PENDING or SUBMITTED to FAILED.",
           .details = "Operator only.",
           .errors = {unknown_id,
                      for_operator,
                      {illegal_transition, "the claim is already CONFIRMED or FAILED"}}}),
  };
}

}  // namespace

std::span<const Operation> operations() {
  static const std::vector<Operation> all = make_operations();
  return all;
}

const Operation* find_operation(std::string_view name) {
  const auto all = operations();
  const auto found = std::ranges::find(all, name, &Operation::name);
  return found == all.end() ? nullptr : &*found;
}

bool is_short(const Principal& principal, std::string_view operation,
              std::span<const Parameter> parameters) {
  constexpr std::size_t max_parameters = 200;  // an error may name each of them
  if (parameters.size() > max_parameters) return false;
  const Operation* found = find_operation(operation);
  return found == nullptr || found->is_bounded || found->is_short_page(principal, parameters);
}

void require_operation_scope(const Principal& principal, const Operation& operation) {
  require_scope(principal, operation.scope, operation.is_write);
}

}  // namespace comptroller::service
