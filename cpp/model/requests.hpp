// Requests of operations: the parameters and the members of the body, as one record (specification
// 4). A member that is not std::optional and not an array is required.
#pragma once

#include <optional>

#include "model/lists.hpp"

namespace comptroller {

// One record by its id.
struct ById {
  Id id;
  using fields = Fields<Field<&ById::id, "identifies the record">>;
};

struct UpdateIdentity : ById, LegacyFlags {
  std::optional<Metadata> metadata;
  using fields = Concatenate<
      ById::fields, LegacyFlags::fields,
      Field<&UpdateIdentity::metadata, "replaces the stored metadata; at most 50 keys">>;
};

// The customer that a new record belongs to.
struct ForCustomer : OfCustomer {
  using fields = Fields<
      Field<&ForCustomer::customer_id,
            "the customer it belongs to; default: the client's own, `default` for the operator">>;
};

struct PutIdentity : ById, ForCustomer, LegacyFlags {
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  using fields =
      Concatenate<ById::fields, ForCustomer::fields,
                  Field<&PutIdentity::ref_id, "reference id given by the client">,
                  Field<&PutIdentity::metadata, "replaces the stored metadata; at most 50 keys">,
                  LegacyFlags::fields>;
};

struct PermitsAction : ById {
  Action action{};
  std::optional<Timestamp> at;
  using fields = Concatenate<ById::fields, Field<&PermitsAction::action, "the action to check">,
                             Field<&PermitsAction::at, "the time to check; default now">>;
};

struct Permission {
  static constexpr std::string_view doc = "Whether an action is permitted.";

  bool permitted = false;
  using fields = Fields<Field<&Permission::permitted, "whether the action is permitted">>;
};

struct CreateControl {
  Id identity_id;
  ControlType type{};
  Word reason_code;
  std::optional<Note> reason;
  std::optional<bool> is_overridable;
  using fields = Fields<
      Field<&CreateControl::identity_id, "the identity to restrict">,
      Field<&CreateControl::type, "type of the restriction; only the operator can set FROZEN">,
      Field<&CreateControl::reason_code, "coded reason in upper case, such as CUSTOMER_REQUEST">,
      Field<&CreateControl::reason, "reason in prose, at most 1024 characters">,
      Field<&CreateControl::is_overridable,
            "whether a client may delete it; default false; operator only">>;
};

struct DeleteControl {
  std::optional<Id> control_id, id, identity_id;
  std::optional<Note> reason;
  using fields = Fields<
      Field<&DeleteControl::control_id, "the control to delete">,
      AliasOf<Field<&DeleteControl::id, "another name of control_id">, "control_id">,
      Field<&DeleteControl::identity_id, "the identity it must belong to">,
      Field<&DeleteControl::reason, "reason for the deletion in prose, at most 1024 characters">>;
};

struct CreatePayoutGroup : ForCustomer {
  Ledger ledger{};
  Term asset_type, jurisdiction;
  Name name;
  Label claimer_address;
  std::optional<ScheduleType> schedule_type;
  using fields = Concatenate<
      Field<&CreatePayoutGroup::ledger, "the ledger it is paid on">,
      Field<&CreatePayoutGroup::asset_type, "the asset it is paid in">,
      Field<&CreatePayoutGroup::jurisdiction, "where its rewards are taxed or regulated">,
      Field<&CreatePayoutGroup::name, "name for people, at most 256 characters">,
      Field<&CreatePayoutGroup::claimer_address,
            "address that claims for the group, valid on the ledger">,
      Field<&CreatePayoutGroup::schedule_type, "how often it is claimed">, ForCustomer::fields>;
};

struct UpdatePayoutGroup : ById {
  std::optional<Name> name;
  std::optional<Term> jurisdiction;
  using fields = Concatenate<
      ById::fields, Field<&UpdatePayoutGroup::name, "name for people, at most 256 characters">,
      Field<&UpdatePayoutGroup::jurisdiction, "where its rewards are taxed or regulated">>;
};

struct ObservePayoutGroup : ById {
  std::optional<Word> onchain_status;
  std::optional<NonNegativeAmount> balance;
  std::optional<Timestamp> balance_at, last_claim_all_at;
  std::optional<Label> rate_id, onchain_group_id;
  using fields = Concatenate<
      ById::fields, Field<&ObservePayoutGroup::onchain_status, "status as observed, in upper case">,
      Field<&ObservePayoutGroup::balance, "unclaimed balance, in units of the group's asset_type">,
      Field<&ObservePayoutGroup::balance_at, "when the balance was observed; default now">,
      Field<&ObservePayoutGroup::rate_id, "id of the rate that applies">,
      Field<&ObservePayoutGroup::onchain_group_id, "its id on chain">,
      Field<&ObservePayoutGroup::last_claim_all_at,
            "when the latest CLAIM_ALL claim was confirmed">>;
};

struct CreateRewardAddress : ForCustomer {
  Ledger ledger{};
  Label address;
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields =
      Concatenate<Field<&CreateRewardAddress::ledger, "the ledger of the address">,
                  Field<&CreateRewardAddress::address,
                        "the address to monitor, valid on the ledger; mixed-case hex needs a "
                        "correct EIP-55 checksum">,
                  Field<&CreateRewardAddress::name, "name for people, at most 256 characters">,
                  Field<&CreateRewardAddress::payout_group_id,
                        "the payout group to attribute it to, on the same ledger">,
                  ForCustomer::fields>;
};

struct UpdateRewardAddress : ById {
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields =
      Concatenate<ById::fields,
                  Field<&UpdateRewardAddress::name, "name for people, at most 256 characters">,
                  Field<&UpdateRewardAddress::payout_group_id,
                        "the payout group to attribute it to, on the same ledger">>;
};

struct ObserveRewardAddress : ById {
  Word status;
  using fields =
      Concatenate<ById::fields,
                  Field<&ObserveRewardAddress::status, "status as observed, in upper case">>;
};

struct SubmitClaim : ById {
  Label tx_hash;
  std::optional<Timestamp> at;
  using fields = Concatenate<ById::fields, Field<&SubmitClaim::tx_hash, "hash of the transaction">,
                             Field<&SubmitClaim::at, "when it was sent; default now">>;
};

struct ConfirmClaim : ById {
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields, Field<&ConfirmClaim::at, "when it was confirmed; default now">>;
};

struct FailClaim : ById {
  Note error_message;
  using fields =
      Concatenate<ById::fields,
                  Field<&FailClaim::error_message, "why it failed, at most 1024 characters">>;
};

// All requests, in the order of the API description.
template <Record... R>
struct Requests {};

using AllRequests =
    Requests<ById, ListIdentities, UpdateIdentity, PutIdentity, PermitsAction, ListControls,
             CreateControl, DeleteControl, ListOrchestrations, ListPayoutGroups, CreatePayoutGroup,
             UpdatePayoutGroup, ObservePayoutGroup, ListRewardAddresses, CreateRewardAddress,
             UpdateRewardAddress, ObserveRewardAddress, ListBalances, ListClaims, SubmitClaim,
             ConfirmClaim, FailClaim>;

}  // namespace comptroller
