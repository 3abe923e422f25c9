// Payout groups, their claims, reward addresses and their balances (specification 4.3 to 4.5).
#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "service/operation_rows.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

namespace {

// Throws unless the group exists, belongs to the customer of the address and is on its ledger.
void check_group(Context& context, const RewardAddress& address, const GroupId& named) {
  const std::string& id = named.value;
  const auto group = require<PayoutGroup, store::LockFor::reference>(context, id);
  if (customer_of(group.record) != customer_of(address)) throw not_found("payout group", id);
  rules::check_attribution(address, group.record);
}

// These functions save and return the new state of a stored record.
PayoutGroup save(Context& context, const store::Stored<PayoutGroup>& before, PayoutGroup after) {
  if (!store::update_payout_group(context.changes(), before, after)) context.background.start();
  return after;
}

Claim save(Context& context, const store::Stored<Claim>& before, Claim after) {
  const std::int64_t group = context.connection.symbols().intern(after.payout_group_id.value);
  store::update_claim(context.changes(), before, after,
                      store::group_facts(context.connection, group).jurisdiction);
  if (const auto confirmed_at = rules::claim_all_confirmed_at(after)) {
    store::raise_last_claim_all(context.changes(), group, *confirmed_at);
  }
  return after;
}

// Saves the state that a rule derives from the stored record and the request.
template <Record R, Record Request, R (*rule)(R, const Request&, Timestamp)>
R change(Context& context, const Request& request) {
  const auto stored = require<R>(context, request.id.value);
  return save(context, stored, rule(stored.record, request, context.now));
}

PayoutGroup create_payout_group(Context& context, const CreatePayoutGroup& request) {
  PayoutGroup group = rules::create_group(request, context.now, context.environment.make_id());
  customer_of(group) = written_customer(context.principal, request.customer_id);
  store::ensure_customer(context.connection, customer_of(group));
  store::insert_payout_group(context.changes(), group);
  return group;
}

PayoutGroup observe_payout_group(Context& context, const ObservePayoutGroup& request) {
  const auto stored = require<PayoutGroup>(context, request.id.value);
  PayoutGroup group = rules::observe_group(stored.record, request, context.now);
  if (request.last_claim_all_at) store::raise_to_claims(context.connection, group);
  return save(context, stored, std::move(group));
}

RewardAddress create_reward_address(Context& context, const CreateRewardAddress& request) {
  RewardAddress address =
      rules::create_address(request, context.now, context.environment.make_id());
  customer_of(address) = written_customer(context.principal, request.customer_id);
  if (request.payout_group_id) check_group(context, address, *request.payout_group_id);
  if (const auto taken =
          store::find_address(context.connection, address.ledger, address.address.value)) {
    constexpr const char* detail = "the address is already registered on this ledger";
    if (!can_see(context.principal, customer_of(taken->record))) {
      throw Error(Code::already_exists, detail);
    }
    throw Error::conflict(detail, taken->record.id.value);
  }
  store::ensure_customer(context.connection, customer_of(address));
  store::insert(context.changes(), address);
  return address;
}

RewardAddress update_reward_address(Context& context, const UpdateRewardAddress& request) {
  const auto stored = require<RewardAddress>(context, request.id.value);
  RewardAddress address = rules::update_address(stored.record, request);
  if (request.payout_group_id) check_group(context, address, *request.payout_group_id);
  store::update(context.changes(), stored, address);
  return address;
}

RewardAddress observe_reward_address(Context& context, const ObserveRewardAddress& request) {
  const auto stored = require<RewardAddress>(context, request.id.value);
  RewardAddress address = stored.record;
  address.status = request.status;
  store::update(context.changes(), stored, address);
  return address;
}

Balance record_balance(Context& context, const Balance& request) {
  ingest(context, request);
  // If an equal balance is stored, its text is kept and returned.
  return store::find_balance(context.connection, request.address_id, request.at).value_or(request);
}

constexpr ErrorCase other_ledger{Code::ledger_mismatch, "the payout group is on another ledger"};

}  // namespace

std::vector<Operation> reward_operations() {
  using enum RequestSource;
  using enum Code;
  const Endpoints payout_groups{"payout_groups",
                                "/rewards/payout-groups",
                                also_unversioned(),
                                "rewards:read_payout_groups",
                                "rewards:write_payout_groups",
                                "group"};
  const Endpoints reward_addresses{"reward_addresses",
                                   "/rewards/addresses",
                                   also_unversioned(),
                                   "rewards:read_monitoring_address",
                                   "rewards:write_monitoring_address",
                                   "address"};
  const Endpoints balances{"balances", "/rewards/balances", {operator_prefix}, operator_read, ""};
  const Endpoints claims{"claims", "/rewards/claims", also_unversioned(), "rewards:read_claims",
                         ""};
  return {
      read_row(payout_groups, &get<PayoutGroup>, {"get", "Returns one payout group."}),
      read_row(payout_groups, &list<ListPayoutGroups>, {"list", "Lists payout groups."}),
      write_row<body>(
          payout_groups, &create_payout_group,
          {"create", "Creates a payout group with status UNREGISTERED and balance 0.", "POST"}),
      write_row<id_and_body>(
          payout_groups, &change<PayoutGroup, UpdatePayoutGroup, &rules::update_group>,
          {"update", "Sets the name or jurisdiction of a payout group.", "PUT /{id}"}),
      operator_row<id_and_body>(
          payout_groups, &observe_payout_group,
          {"observe", "Records the observed on-chain state of a payout group.",
           "POST /{id}/observe"}),
      read_row(reward_addresses, &get<RewardAddress>,
               {"get", "Returns one reward address, without its balance."}),
      read_row(reward_addresses, &list<ListRewardAddresses>, {"list", "Lists reward addresses."}),
      write_row<body>(
          reward_addresses, &create_reward_address,
          {.name = "create",
           .summary = "Registers an address for reward attribution.",
           .route = "POST",
           .errors = {other_ledger,
                      {not_found, "the payout group does not exist"},
                      {already_exists,
                       "the address is registered; `existing` is its id if the caller may see "
                       "it"}}}),
      write_row<id_in_both>(
          reward_addresses, &update_reward_address,
          {.name = "update",
           .summary = "Sets the name or payout group of a reward address.",
           .route = "PUT /{id}",
           .details = "A change of the payout group sets the status to PENDING.",
           .errors = {other_ledger,
                      {not_found, "the address or the payout group does not exist"}}}),
      operator_row<id_and_body>(
          reward_addresses, &observe_reward_address,
          {"observe", "Records the observed status of a reward address.", "POST /{id}/observe"}),
      read_row(claims, &get<Claim>, {"get", "Returns one claim."}),
      read_row(claims, &list<ListClaims>, {"list", "Lists reward claims."}),
      operator_row<body>(
          claims, &put<Claim>,
          {.name = "put",
           .summary = "Stores one claim, as a load of one line would.",
           .route = "PUT",
           .details = "A newer claim replaces the stored one.",
           .errors = {stored_differs,
                      {illegal_transition, "the stored status cannot change to the new status"},
                      {already_exists, "the payout group belongs to another customer"}}}),
      operator_row<id_and_body>(claims, &change<Claim, SubmitClaim, &rules::submit_claim>,
                                {.name = "submit",
                                 .summary = "Changes a claim from PENDING to SUBMITTED.",
                                 .route = "POST /{id}/submit",
                                 .errors = {{illegal_transition, "the claim is not PENDING"}}}),
      operator_row<id_and_body>(claims, &change<Claim, ConfirmClaim, &rules::confirm_claim>,
                                {.name = "confirm",
                                 .summary = "Changes a claim from SUBMITTED to CONFIRMED.",
                                 .route = "POST /{id}/confirm",
                                 .errors = {{illegal_transition, "the claim is not SUBMITTED"}}}),
      operator_row<id_and_body>(
          claims, &change<Claim, FailClaim, &rules::fail_claim>,
          {.name = "fail",
           .summary = "Changes a claim from PENDING or SUBMITTED to FAILED.",
           .route = "POST /{id}/fail",
           .errors = {{illegal_transition, "the claim is already CONFIRMED or FAILED"}}}),
      read_row(balances, &list<ListBalances>,
               {"list", "Lists recorded balances in order of time."}),
      operator_row<body>(
          balances, &record_balance,
          {.name = "record",
           .summary = "Records the balance of a reward address at a time.",
           .route = "POST",
           .errors = {{not_found, "the reward address does not exist"},
                      {already_exists, "another balance is recorded for that time"}}}),
  };
}

}  // namespace comptroller::service
