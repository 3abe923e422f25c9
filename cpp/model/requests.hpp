// What an operation takes: its parameters and the members of its body, as one record (specification
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
  using fields = Concatenate<ById::fields, LegacyFlags::fields,
                             Field<&UpdateIdentity::metadata, "replaces the stored metadata">>;
};

struct PutIdentity : ById, OfCustomer, LegacyFlags {
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  using fields = Concatenate<ById::fields, OfCustomer::fields,
                             Field<&PutIdentity::ref_id, "reference id given by the client">,
                             Field<&PutIdentity::metadata, "replaces the stored metadata">,
                             LegacyFlags::fields>;
};

struct PermitsAction : ById {
  Action action{};
  std::optional<Timestamp> at;
  using fields = Concatenate<ById::fields, Field<&PermitsAction::action, "the action to check">,
                             Field<&PermitsAction::at, "the time to check, default now">>;
};

struct Permission {
  bool permitted = false;
  using fields = Fields<Field<&Permission::permitted, "whether the action is permitted">>;
};

struct CreateControl {
  Id identity_id;
  ControlType type{};
  Word reason_code;
  std::optional<Note> reason;
  std::optional<bool> is_overridable;
  using fields =
      Fields<Field<&CreateControl::identity_id, "the identity to restrict">,
             Field<&CreateControl::type, "a client may set SELL_ONLY, CLOSED and DORMANT">,
             Field<&CreateControl::reason_code, "coded reason">,
             Field<&CreateControl::reason, "reason in prose">,
             Field<&CreateControl::is_overridable, "operator only, default false">>;
};

struct DeleteControl {
  std::optional<Id> control_id, id, identity_id;
  std::optional<Note> reason;
  using fields = Fields<Field<&DeleteControl::control_id, "the control to delete">,
                        Field<&DeleteControl::id, "another name of control_id">,
                        Field<&DeleteControl::identity_id, "the identity it must belong to">,
                        Field<&DeleteControl::reason, "why, in prose">>;
};

struct CreatePayoutGroup : OfCustomer {
  Ledger ledger{};
  Term asset_type, jurisdiction;
  Name name;
  Label claimer_address;
  std::optional<ScheduleType> schedule_type;
  using fields =
      Concatenate<Field<&CreatePayoutGroup::ledger, "the ledger it is paid on">,
                  Field<&CreatePayoutGroup::asset_type, "the asset it is paid in">,
                  Field<&CreatePayoutGroup::jurisdiction, "its jurisdiction">,
                  Field<&CreatePayoutGroup::name, "name for people">,
                  Field<&CreatePayoutGroup::claimer_address, "address that claims for the group">,
                  Field<&CreatePayoutGroup::schedule_type, "how often it is claimed">,
                  OfCustomer::fields>;
};

struct UpdatePayoutGroup : ById {
  std::optional<Name> name;
  std::optional<Term> jurisdiction;
  using fields = Concatenate<ById::fields, Field<&UpdatePayoutGroup::name, "name for people">,
                             Field<&UpdatePayoutGroup::jurisdiction, "its jurisdiction">>;
};

struct ObservePayoutGroup : ById {
  std::optional<Word> onchain_status;
  std::optional<NonNegativeAmount> balance;
  std::optional<Timestamp> balance_at, last_claim_all_at;
  std::optional<Label> rate_id, onchain_group_id;
  using fields = Concatenate<
      ById::fields, Field<&ObservePayoutGroup::onchain_status, "a value of an open set">,
      Field<&ObservePayoutGroup::balance, "unclaimed balance">,
      Field<&ObservePayoutGroup::balance_at, "when the balance was observed, default now">,
      Field<&ObservePayoutGroup::rate_id, "the rate that applies">,
      Field<&ObservePayoutGroup::onchain_group_id, "its id on chain">,
      Field<&ObservePayoutGroup::last_claim_all_at, "confirmation of its latest CLAIM_ALL">>;
};

struct CreateRewardAddress : OfCustomer {
  Ledger ledger{};
  Label address;
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields =
      Concatenate<Field<&CreateRewardAddress::ledger, "the ledger it lives on">,
                  Field<&CreateRewardAddress::address, "the address to monitor">,
                  Field<&CreateRewardAddress::name, "name for people">,
                  Field<&CreateRewardAddress::payout_group_id, "the group to attribute it to">,
                  OfCustomer::fields>;
};

struct UpdateRewardAddress : ById {
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields =
      Concatenate<ById::fields, Field<&UpdateRewardAddress::name, "name for people">,
                  Field<&UpdateRewardAddress::payout_group_id, "the group to attribute it to">>;
};

struct ObserveRewardAddress : ById {
  Word status;
  using fields =
      Concatenate<ById::fields, Field<&ObserveRewardAddress::status, "a value of an open set">>;
};

struct SubmitClaim : ById {
  Label tx_hash;
  std::optional<Timestamp> at;
  using fields = Concatenate<ById::fields, Field<&SubmitClaim::tx_hash, "hash of the transaction">,
                             Field<&SubmitClaim::at, "when it was sent, default now">>;
};

struct ConfirmClaim : ById {
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields, Field<&ConfirmClaim::at, "when it was confirmed, default now">>;
};

struct FailClaim : ById {
  Note error_message;
  using fields = Concatenate<ById::fields, Field<&FailClaim::error_message, "why it failed">>;
};

}  // namespace comptroller
