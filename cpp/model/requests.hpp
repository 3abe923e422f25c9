// What an operation takes: its parameters and the members of its body, as one record (specification
// 4). A member that is not std::optional and not an array is required.
#pragma once

#include <optional>
#include <vector>

#include "model/records.hpp"

namespace comptroller {

// How every list is paged: page size, direction of created_at, where to go on.
struct Paging {
  std::optional<PageLimit> limit;
  std::optional<Order> order;
  std::optional<PageCursor> page_cursor;
  using fields = Fields<Field<"limit", &Paging::limit, "page size, 1 to 1000, default 100">,
                        Field<"order", &Paging::order, "by created_at, default DESC">,
                        Field<"page_cursor", &Paging::page_cursor, "where the last page ended">>;
};

struct OfCustomer {
  std::optional<Id> customer_id;
  using fields = Fields<Field<"customer_id", &OfCustomer::customer_id,
                              "the customer; a client may only name its own">>;
};

struct CreatedAtBounds {
  std::optional<Timestamp> lt, lte, eq, gte, gt;
  using fields = Fields<Field<"created_at.lt", &CreatedAtBounds::lt, "created before">,
                        Field<"created_at.lte", &CreatedAtBounds::lte, "created before or at">,
                        Field<"created_at.eq", &CreatedAtBounds::eq, "created at">,
                        Field<"created_at.gte", &CreatedAtBounds::gte, "created at or after">,
                        Field<"created_at.gt", &CreatedAtBounds::gt, "created after">>;
};

// One record by its id.
struct ById {
  Id id;
  using fields = Fields<Field<"id", &ById::id, "identifies the record">>;
};

struct ListIdentities : OfCustomer, CreatedAtBounds, Paging {
  std::vector<ControlType> control_types;
  std::vector<Word> control_reason_codes;
  std::optional<Label> ref_id;
  using fields = Concatenate<
      Fields<Field<"control_types", &ListIdentities::control_types, "an active control has one">,
             Field<"control_reason_codes", &ListIdentities::control_reason_codes,
                   "an active control has one">,
             Field<"ref_id", &ListIdentities::ref_id, "reference id given by the client">>,
      OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct UpdateIdentity : ById {
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
  std::optional<Metadata> metadata;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"user_disabled", &UpdateIdentity::user_disabled, "deprecated">,
                         Field<"admin_disabled", &UpdateIdentity::admin_disabled, "deprecated">,
                         Field<"metadata", &UpdateIdentity::metadata, "replaces what is there">>>;
};

struct PutIdentity : ById, OfCustomer {
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
  using fields =
      Concatenate<ById::fields, OfCustomer::fields,
                  Fields<Field<"ref_id", &PutIdentity::ref_id, "reference id given by the client">,
                         Field<"metadata", &PutIdentity::metadata, "replaces what is there">,
                         Field<"user_disabled", &PutIdentity::user_disabled, "deprecated">,
                         Field<"admin_disabled", &PutIdentity::admin_disabled, "deprecated">>>;
};

struct PermitsAction : ById {
  Action action{};
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"action", &PermitsAction::action, "what the identity wants to do">,
                         Field<"at", &PermitsAction::at, "as of this moment, default now">>>;
};

struct Permission {
  bool permitted = false;
  using fields = Fields<Field<"permitted", &Permission::permitted, "whether it may">>;
};

struct ListControls : OfCustomer, CreatedAtBounds, Paging {
  std::optional<Id> identity_id;
  std::optional<bool> include_deleted;
  std::optional<Timestamp> active_at;
  std::vector<ControlType> type;
  std::vector<SetBy> set_by;
  std::vector<Word> reason_code;
  using fields = Concatenate<
      Fields<Field<"identity_id", &ListControls::identity_id, "of this identity">,
             Field<"include_deleted", &ListControls::include_deleted, "default false">,
             Field<"active_at", &ListControls::active_at, "in force at that moment">,
             Field<"type", &ListControls::type, "of one of these types">,
             Field<"set_by", &ListControls::set_by, "set by one of these">,
             Field<"reason_code", &ListControls::reason_code, "with one of these reason codes">>,
      OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct CreateControl {
  Id identity_id;
  ControlType type{};
  Word reason_code;
  std::optional<Note> reason;
  std::optional<bool> is_overridable;
  using fields = Fields<
      Field<"identity_id", &CreateControl::identity_id, "the identity to restrict">,
      Field<"type", &CreateControl::type, "a client may set SELL_ONLY, CLOSED and DORMANT">,
      Field<"reason_code", &CreateControl::reason_code, "coded reason">,
      Field<"reason", &CreateControl::reason, "reason in prose">,
      Field<"is_overridable", &CreateControl::is_overridable, "operator only, default false">>;
};

struct DeleteControl {
  std::optional<Id> control_id;
  std::optional<Id> id;
  std::optional<Id> identity_id;
  std::optional<Note> reason;
  using fields =
      Fields<Field<"control_id", &DeleteControl::control_id, "the control to delete">,
             Field<"id", &DeleteControl::id, "another name of control_id">,
             Field<"identity_id", &DeleteControl::identity_id, "the identity it must belong to">,
             Field<"reason", &DeleteControl::reason, "why, in prose">>;
};

struct ListOrchestrations : OfCustomer, CreatedAtBounds, Paging {
  std::vector<Id> orchestration_rule_id;
  std::vector<Label> source_asset;
  std::vector<Label> destination_asset;
  std::vector<Word> status;
  std::vector<Id> orchestration_id;
  std::vector<Id> profile_id;
  std::vector<Label> ref_id;
  using fields = Concatenate<
      Fields<
          Field<"orchestration_rule_id", &ListOrchestrations::orchestration_rule_id,
                "initiated by one of these rules">,
          Field<"source_asset", &ListOrchestrations::source_asset, "source assets">,
          Field<"destination_asset", &ListOrchestrations::destination_asset, "destination assets">,
          Field<"status", &ListOrchestrations::status, "statuses">,
          Field<"orchestration_id", &ListOrchestrations::orchestration_id, "ids">,
          Field<"profile_id", &ListOrchestrations::profile_id,
                "profiles, its own or that of its destination">,
          Field<"ref_id", &ListOrchestrations::ref_id, "reference ids given by the client">>,
      OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct CreatePayoutGroup : OfCustomer {
  Ledger ledger{};
  Term asset_type;
  Term jurisdiction;
  Name name;
  Label claimer_address;
  std::optional<ScheduleType> schedule_type;
  using fields = Concatenate<
      Fields<Field<"ledger", &CreatePayoutGroup::ledger, "the ledger it is paid on">,
             Field<"asset_type", &CreatePayoutGroup::asset_type, "the asset it is paid in">,
             Field<"jurisdiction", &CreatePayoutGroup::jurisdiction, "its jurisdiction">,
             Field<"name", &CreatePayoutGroup::name, "name for people">,
             Field<"claimer_address", &CreatePayoutGroup::claimer_address,
                   "address that claims for the group">,
             Field<"schedule_type", &CreatePayoutGroup::schedule_type, "how often it is claimed">>,
      OfCustomer::fields>;
};

struct UpdatePayoutGroup : ById {
  std::optional<Name> name;
  std::optional<Term> jurisdiction;
  using fields = Concatenate<
      ById::fields,
      Fields<Field<"name", &UpdatePayoutGroup::name, "name for people">,
             Field<"jurisdiction", &UpdatePayoutGroup::jurisdiction, "its jurisdiction">>>;
};

struct ObservePayoutGroup : ById {
  std::optional<Word> onchain_status;
  std::optional<NonNegativeAmount> balance;
  std::optional<Timestamp> balance_at;
  std::optional<Label> rate_id;
  std::optional<Label> onchain_group_id;
  std::optional<Timestamp> last_claim_all_at;
  using fields = Concatenate<
      ById::fields,
      Fields<Field<"onchain_status", &ObservePayoutGroup::onchain_status, "a word of an open set">,
             Field<"balance", &ObservePayoutGroup::balance, "unclaimed balance">,
             Field<"balance_at", &ObservePayoutGroup::balance_at,
                   "when the balance was seen, default now">,
             Field<"rate_id", &ObservePayoutGroup::rate_id, "the rate that applies">,
             Field<"onchain_group_id", &ObservePayoutGroup::onchain_group_id, "its id on chain">,
             Field<"last_claim_all_at", &ObservePayoutGroup::last_claim_all_at,
                   "confirmation of its latest CLAIM_ALL">>>;
};

struct ListPayoutGroups : OfCustomer, Paging {
  std::optional<Uuid> id;
  std::optional<Ledger> ledger;
  std::optional<Label> asset_type;
  std::optional<Label> jurisdiction;
  std::optional<Label> claimer_address;
  std::vector<Word> onchain_status;
  std::optional<Name> name_prefix;
  using fields = Concatenate<
      Fields<
          Field<"id", &ListPayoutGroups::id, "of this id">,
          Field<"ledger", &ListPayoutGroups::ledger, "on this ledger">,
          Field<"asset_type", &ListPayoutGroups::asset_type, "paid in this asset">,
          Field<"jurisdiction", &ListPayoutGroups::jurisdiction, "of this jurisdiction">,
          Field<"claimer_address", &ListPayoutGroups::claimer_address, "claimed by this address">,
          Field<"onchain_status", &ListPayoutGroups::onchain_status, "with one of these statuses">,
          Field<"name_prefix", &ListPayoutGroups::name_prefix, "whose name begins so">>,
      OfCustomer::fields, Paging::fields>;
};

struct CreateRewardAddress : OfCustomer {
  Ledger ledger{};
  Label address;
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields =
      Concatenate<Fields<Field<"ledger", &CreateRewardAddress::ledger, "the ledger it lives on">,
                         Field<"address", &CreateRewardAddress::address, "the address to monitor">,
                         Field<"name", &CreateRewardAddress::name, "name for people">,
                         Field<"payout_group_id", &CreateRewardAddress::payout_group_id,
                               "the group to attribute it to, of the same ledger">>,
                  OfCustomer::fields>;
};

struct UpdateRewardAddress : ById {
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields = Concatenate<ById::fields,
                             Fields<Field<"name", &UpdateRewardAddress::name, "name for people">,
                                    Field<"payout_group_id", &UpdateRewardAddress::payout_group_id,
                                          "the group to attribute it to, of the same ledger">>>;
};

struct ObserveRewardAddress : ById {
  Word status;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"status", &ObserveRewardAddress::status, "a word of an open set">>>;
};

struct ListRewardAddresses : OfCustomer, Paging {
  std::optional<Ledger> ledger;
  std::optional<Label> address;
  std::optional<Uuid> id;
  std::optional<GroupId> payout_group_id;
  std::optional<bool> include_balance;
  std::optional<Timestamp> balance_timestamp;
  using fields = Concatenate<
      Fields<Field<"ledger", &ListRewardAddresses::ledger, "on this ledger">,
             Field<"address", &ListRewardAddresses::address, "this address">,
             Field<"id", &ListRewardAddresses::id, "of this id">,
             Field<"payout_group_id", &ListRewardAddresses::payout_group_id, "of this group">,
             Field<"include_balance", &ListRewardAddresses::include_balance,
                   "show each address's balance">,
             Field<"balance_timestamp", &ListRewardAddresses::balance_timestamp,
                   "the balance as of this moment, default now">>,
      OfCustomer::fields, Paging::fields>;
};

struct ListBalances : Paging {
  std::optional<Uuid> address_id;
  using fields =
      Concatenate<Fields<Field<"address_id", &ListBalances::address_id, "of this address">>,
                  Paging::fields>;
};

struct ListClaims : OfCustomer, Paging {
  std::optional<GroupId> payout_group_id;
  std::vector<ClaimStatus> statuses;
  std::optional<Label> chain;
  std::optional<Label> jurisdiction;
  std::optional<Timestamp> start_time;
  std::optional<Timestamp> end_time;
  std::optional<Id> id;
  using fields = Concatenate<
      Fields<Field<"payout_group_id", &ListClaims::payout_group_id, "of this group">,
             Field<"statuses", &ListClaims::statuses, "with one of these onchain_status">,
             Field<"chain", &ListClaims::chain, "on this blockchain">,
             Field<"jurisdiction", &ListClaims::jurisdiction, "present one of the group">,
             Field<"start_time", &ListClaims::start_time, "created at or after">,
             Field<"end_time", &ListClaims::end_time, "created at or before">,
             Field<"id", &ListClaims::id, "of this id">>,
      OfCustomer::fields, Paging::fields>;
};

struct SubmitClaim : ById {
  Label tx_hash;
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"tx_hash", &SubmitClaim::tx_hash, "hash of the transaction">,
                         Field<"at", &SubmitClaim::at, "when it was sent, default now">>>;
};

struct ConfirmClaim : ById {
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"at", &ConfirmClaim::at, "when it was confirmed, default now">>>;
};

struct FailClaim : ById {
  Note error_message;
  using fields =
      Concatenate<ById::fields,
                  Fields<Field<"error_message", &FailClaim::error_message, "why it failed">>>;
};

}  // namespace comptroller
