#include "service/operations.hpp"

#include <algorithm>

#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "service/operation_rows.hpp"

namespace comptroller::service {

void complete(Operation& operation, bool names_customer) {
  const bool is_operators = operation.scope == operator_read || operation.scope == operator_write;
  const bool has_path_id = operation.paths.front().find("{id}") != std::string::npos;
  std::vector<ErrorCase> errors;
  if (operation.is_list) {
    errors.push_back({Code::invalid_cursor, "the cursor belongs to another list, or is damaged"});
  }
  if (has_path_id && std::ranges::find(operation.errors, Code::not_found, &ErrorCase::code) ==
                         operation.errors.end()) {
    errors.push_back({Code::not_found, "no record has this id, or it belongs to another customer"});
  }
  if (is_operators) {
    errors.push_back({Code::insufficient_scope, "the caller is not the operator"});
    operation.details.insert(0, operation.details.empty() ? "Operator only." : "Operator only. ");
  } else if (names_customer) {
    errors.push_back({Code::customer_not_accessible, "a client named another customer"});
  }
  operation.errors.insert(operation.errors.begin(), errors.begin(), errors.end());
}

namespace {

// For operations that store a record as a load of one line would.
constexpr ErrorCase stored_differs{Code::already_exists,
                                   "the stored record has other content and the same or a later "
                                   "updated_at, or another created_at or another customer"};
constexpr ErrorCase other_ledger{Code::ledger_mismatch, "the payout group is on another ledger"};

std::vector<Operation> make_operations() {
  using enum RequestSource;
  using enum Code;
  const std::vector<std::string> versioned{"/v2"};
  const std::vector<std::string> also_unversioned{"", "/v2"};
  const Endpoints identities{"identities", "/identity/identities", versioned,
                             "identity:read_identity", "identity:write_identity"};
  const Endpoints controls{"controls", "/identity/controls", versioned,
                           "identity:read_identity_control", "identity:write_identity_control"};
  Endpoints controls_of_all = controls;  // the operator writes them below a prefix of its own
  controls_of_all.prefixes.emplace_back(operator_prefix);
  const Endpoints orchestrations{"orchestrations", "/orchestration/orchestrations", versioned,
                                 "orchestration:read_orchestration", ""};
  const Endpoints payout_groups{"payout_groups",
                                "/rewards/payout-groups",
                                also_unversioned,
                                "rewards:read_payout_groups",
                                "rewards:write_payout_groups",
                                "group"};
  const Endpoints reward_addresses{"reward_addresses",
                                   "/rewards/addresses",
                                   also_unversioned,
                                   "rewards:read_monitoring_address",
                                   "rewards:write_monitoring_address",
                                   "address"};
  const std::vector<std::string> of_operator{operator_prefix};
  const Endpoints balances{"balances", "/rewards/balances", of_operator, operator_read, ""};
  const Endpoints claims{"claims", "/rewards/claims", also_unversioned, "rewards:read_claims", ""};
  return {
      read<&get_identity>(identities, {"get", "Returns one identity with its active controls."}),
      read<&list_identities>(identities, {"list", "Lists identities with their active controls."}),
      write<&update_identity, id_and_body>(
          identities,
          {.name = "update",
           .summary = "Sets the metadata or the deprecated booleans of an identity.",
           .route = "PUT /{id}",
           .details = "Omitted members keep their values.",
           .errors =
               {{control_not_overridable, "a client set admin_disabled"},
                {already_exists,
                 "a control of that type and setter with another is_overridable is active"}}}),
      operator_only<&put_identity, body>(
          identities,
          {.name = "put",
           .summary = "Creates an identity, or sets the given members of an existing one.",
           .route = "PUT",
           .errors = {{already_exists,
                       "the identity belongs to another customer, or a control of that type "
                       "and setter with another is_overridable is active"}}}),
      read<&permits>(identities,
                     {"permits", "Returns whether the active controls permit an action.",
                      "GET /{id}/permits"}),
      read<&get<Control>>(controls, {"get", "Returns one control, active or deleted."}),
      read<&list<Control, ListControls>>(
          controls, {"list", "Lists controls, by default only active controls."}),
      write<&create_control, body>(
          controls_of_all,
          {.name = "create",
           .summary = "Creates a control, which restricts an identity.",
           .route = "POST",
           .details = "Clients can delete a control that a client created.",
           .errors = {{control_type_not_permitted, "a client set FROZEN"},
                      {not_found, "the identity does not exist"},
                      {already_exists,
                       "a control of this type and setter is active; `existing` is its id"}}}),
      write<&delete_control, either>(
          controls_of_all,
          {.name = "delete",
           .summary = "Deletes a control, and returns it with deleted_at.",
           .route = "DELETE",
           .errors = {{not_found, "the control does not exist, or it belongs to another identity"},
                      {control_not_overridable, "a client may not delete this control"},
                      {already_deleted, "the control is already deleted"}}}),
      read<&get<Orchestration>>(orchestrations, {"get", "Returns one orchestration."}),
      read<&list<Orchestration, ListOrchestrations>>(orchestrations,
                                                     {"list", "Lists orchestrations."}),
      operator_only<&put<Orchestration>, body>(
          orchestrations, {.name = "put",
                           .summary = "Stores one orchestration, as a load of one line would.",
                           .route = "PUT",
                           .details = "A newer orchestration replaces the stored one.",
                           .errors = {stored_differs}}),
      read<&get<PayoutGroup>>(payout_groups, {"get", "Returns one payout group."}),
      read<&list<PayoutGroup, ListPayoutGroups>>(payout_groups, {"list", "Lists payout groups."}),
      write<&create_payout_group, body>(
          payout_groups,
          {"create", "Creates a payout group with status UNREGISTERED and balance 0.", "POST"}),
      write<&change<PayoutGroup, UpdatePayoutGroup, &rules::update_group>, id_and_body>(
          payout_groups,
          {"update", "Sets the name or jurisdiction of a payout group.", "PUT /{id}"}),
      operator_only<&observe_payout_group, id_and_body>(
          payout_groups, {"observe", "Records the observed on-chain state of a payout group.",
                          "POST /{id}/observe"}),
      read<&get<RewardAddress>>(reward_addresses,
                                {"get", "Returns one reward address, without its balance."}),
      read<&list<RewardAddress, ListRewardAddresses>>(reward_addresses,
                                                      {"list", "Lists reward addresses."}),
      write<&create_reward_address, body>(
          reward_addresses,
          {.name = "create",
           .summary = "Registers an address for reward attribution.",
           .route = "POST",
           .errors = {other_ledger,
                      {not_found, "the payout group does not exist"},
                      {already_exists,
                       "the address is registered; `existing` is its id if the caller may see "
                       "it"}}}),
      write<&update_reward_address, id_in_both>(
          reward_addresses,
          {.name = "update",
           .summary = "Sets the name or payout group of a reward address.",
           .route = "PUT /{id}",
           .details = "A change of the payout group sets the status to PENDING.",
           .errors = {other_ledger,
                      {not_found, "the address or the payout group does not exist"}}}),
      operator_only<&observe_reward_address, id_and_body>(
          reward_addresses,
          {"observe", "Records the observed status of a reward address.", "POST /{id}/observe"}),
      read<&list<Balance, ListBalances>>(balances,
                                         {"list", "Lists recorded balances in order of time."}),
      operator_only<&record_balance, body>(
          balances, {.name = "record",
                     .summary = "Records the balance of a reward address at a time.",
                     .route = "POST",
                     .errors = {{not_found, "the reward address does not exist"},
                                {already_exists, "another balance is recorded for that time"}}}),
      read<&get<Claim>>(claims, {"get", "Returns one claim."}),
      read<&list<Claim, ListClaims>>(claims, {"list", "Lists reward claims."}),
      operator_only<&put<Claim>, body>(
          claims,
          {.name = "put",
           .summary = "Stores one claim, as a load of one line would.",
           .route = "PUT",
           .details = "A newer claim replaces the stored one.",
           .errors = {stored_differs,
                      {illegal_transition, "the stored status cannot change to the new status"},
                      {already_exists, "the payout group belongs to another customer"}}}),
      operator_only<&change<Claim, SubmitClaim, &rules::submit_claim>, id_and_body>(
          claims, {.name = "submit",
                   .summary = "Changes a claim from PENDING to SUBMITTED.",
                   .route = "POST /{id}/submit",
                   .errors = {{illegal_transition, "the claim is not PENDING"}}}),
      operator_only<&change<Claim, ConfirmClaim, &rules::confirm_claim>, id_and_body>(
          claims, {.name = "confirm",
                   .summary = "Changes a claim from SUBMITTED to CONFIRMED.",
                   .route = "POST /{id}/confirm",
                   .errors = {{illegal_transition, "the claim is not SUBMITTED"}}}),
      operator_only<&change<Claim, FailClaim, &rules::fail_claim>, id_and_body>(
          claims, {.name = "fail",
                   .summary = "Changes a claim from PENDING or SUBMITTED to FAILED.",
                   .route = "POST /{id}/fail",
                   .errors = {{illegal_transition, "the claim is already CONFIRMED or FAILED"}}}),
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
  return found == nullptr || !found->is_list || found->is_short_page(principal, parameters);
}

}  // namespace comptroller::service
