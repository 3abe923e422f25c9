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
  using fields = Fields<Field<&Paging::limit, "page size, 1 to 1000, default 100">,
                        Field<&Paging::order, "by created_at, default DESC">,
                        Field<&Paging::page_cursor, "where the last page ended">>;
};

struct OfCustomer {
  std::optional<Id> customer_id;
  using fields =
      Fields<Field<&OfCustomer::customer_id, "the customer; a client may only name its own">>;
};

struct CreatedAtBounds {
  std::optional<Timestamp> lt, lte, eq, gte, gt;
  using fields = Fields<Field<&CreatedAtBounds::lt, "created before", "created_at.lt">,
                        Field<&CreatedAtBounds::lte, "created before or at", "created_at.lte">,
                        Field<&CreatedAtBounds::eq, "created at", "created_at.eq">,
                        Field<&CreatedAtBounds::gte, "created at or after", "created_at.gte">,
                        Field<&CreatedAtBounds::gt, "created after", "created_at.gt">>;
};

// One record by its id.
struct ById {
  Id id;
  using fields = Fields<Field<&ById::id, "identifies the record">>;
};

struct ListIdentities : OfCustomer, CreatedAtBounds, Paging {
  std::vector<ControlType> control_types;
  std::vector<Word> control_reason_codes;
  std::optional<Label> ref_id;
  using fields =
      Concatenate<Field<&ListIdentities::control_types, "an active control has one">,
                  Field<&ListIdentities::control_reason_codes, "an active control has one">,
                  Field<&ListIdentities::ref_id, "reference id given by the client">,
                  OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct UpdateIdentity : ById {
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
  std::optional<Metadata> metadata;
  using fields = Concatenate<ById::fields, Field<&UpdateIdentity::user_disabled, "deprecated">,
                             Field<&UpdateIdentity::admin_disabled, "deprecated">,
                             Field<&UpdateIdentity::metadata, "replaces what is there">>;
};

struct PutIdentity : ById, OfCustomer {
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
  using fields = Concatenate<ById::fields, OfCustomer::fields,
                             Field<&PutIdentity::ref_id, "reference id given by the client">,
                             Field<&PutIdentity::metadata, "replaces what is there">,
                             Field<&PutIdentity::user_disabled, "deprecated">,
                             Field<&PutIdentity::admin_disabled, "deprecated">>;
};

struct PermitsAction : ById {
  Action action{};
  std::optional<Timestamp> at;
  using fields =
      Concatenate<ById::fields, Field<&PermitsAction::action, "what the identity wants to do">,
                  Field<&PermitsAction::at, "as of this moment, default now">>;
};

struct Permission {
  bool permitted = false;
  using fields = Fields<Field<&Permission::permitted, "whether it may">>;
};

struct ListControls : OfCustomer, CreatedAtBounds, Paging {
  std::optional<Id> identity_id;
  std::optional<bool> include_deleted;
  std::optional<Timestamp> active_at;
  std::vector<ControlType> type;
  std::vector<SetBy> set_by;
  std::vector<Word> reason_code;
  using fields = Concatenate<Field<&ListControls::identity_id, "of this identity">,
                             Field<&ListControls::include_deleted, "default false">,
                             Field<&ListControls::active_at, "in force at that moment">,
                             Field<&ListControls::type, "of one of these types">,
                             Field<&ListControls::set_by, "set by one of these">,
                             Field<&ListControls::reason_code, "with one of these reason codes">,
                             OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
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
  std::optional<Id> control_id;
  std::optional<Id> id;
  std::optional<Id> identity_id;
  std::optional<Note> reason;
  using fields = Fields<Field<&DeleteControl::control_id, "the control to delete">,
                        Field<&DeleteControl::id, "another name of control_id">,
                        Field<&DeleteControl::identity_id, "the identity it must belong to">,
                        Field<&DeleteControl::reason, "why, in prose">>;
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
      Field<&ListOrchestrations::orchestration_rule_id, "initiated by one of these rules">,
      Field<&ListOrchestrations::source_asset, "source assets">,
      Field<&ListOrchestrations::destination_asset, "destination assets">,
      Field<&ListOrchestrations::status, "statuses">,
      Field<&ListOrchestrations::orchestration_id, "ids">,
      Field<&ListOrchestrations::profile_id, "profiles, its own or that of its destination">,
      Field<&ListOrchestrations::ref_id, "reference ids given by the client">, OfCustomer::fields,
      CreatedAtBounds::fields, Paging::fields>;
};

struct CreatePayoutGroup : OfCustomer {
  Ledger ledger{};
  Term asset_type;
  Term jurisdiction;
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
  std::optional<Timestamp> balance_at;
  std::optional<Label> rate_id;
  std::optional<Label> onchain_group_id;
  std::optional<Timestamp> last_claim_all_at;
  using fields = Concatenate<
      ById::fields,

      Field<&ObservePayoutGroup::onchain_status, "a word of an open set">,
      Field<&ObservePayoutGroup::balance, "unclaimed balance">,
      Field<&ObservePayoutGroup::balance_at, "when the balance was seen, default now">,
      Field<&ObservePayoutGroup::rate_id, "the rate that applies">,
      Field<&ObservePayoutGroup::onchain_group_id, "its id on chain">,
      Field<&ObservePayoutGroup::last_claim_all_at, "confirmation of its latest CLAIM_ALL">>;
};

struct ListPayoutGroups : OfCustomer, Paging {
  std::optional<Uuid> id;
  std::optional<Ledger> ledger;
  std::optional<Label> asset_type;
  std::optional<Label> jurisdiction;
  std::optional<Label> claimer_address;
  std::vector<Word> onchain_status;
  std::optional<Name> name_prefix;
  using fields = Concatenate<Field<&ListPayoutGroups::id, "of this id">,
                             Field<&ListPayoutGroups::ledger, "on this ledger">,
                             Field<&ListPayoutGroups::asset_type, "paid in this asset">,
                             Field<&ListPayoutGroups::jurisdiction, "of this jurisdiction">,
                             Field<&ListPayoutGroups::claimer_address, "claimed by this address">,
                             Field<&ListPayoutGroups::onchain_status, "with one of these statuses">,
                             Field<&ListPayoutGroups::name_prefix, "whose name begins so">,
                             OfCustomer::fields, Paging::fields>;
};

struct CreateRewardAddress : OfCustomer {
  Ledger ledger{};
  Label address;
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields = Concatenate<Field<&CreateRewardAddress::ledger, "the ledger it lives on">,
                             Field<&CreateRewardAddress::address, "the address to monitor">,
                             Field<&CreateRewardAddress::name, "name for people">,
                             Field<&CreateRewardAddress::payout_group_id,
                                   "the group to attribute it to, of the same ledger">,
                             OfCustomer::fields>;
};

struct UpdateRewardAddress : ById {
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  using fields = Concatenate<ById::fields, Field<&UpdateRewardAddress::name, "name for people">,
                             Field<&UpdateRewardAddress::payout_group_id,
                                   "the group to attribute it to, of the same ledger">>;
};

struct ObserveRewardAddress : ById {
  Word status;
  using fields =
      Concatenate<ById::fields, Field<&ObserveRewardAddress::status, "a word of an open set">>;
};

struct ListRewardAddresses : OfCustomer, Paging {
  std::optional<Ledger> ledger;
  std::optional<Label> address;
  std::optional<Uuid> id;
  std::optional<GroupId> payout_group_id;
  std::optional<bool> include_balance;
  std::optional<Timestamp> balance_timestamp;
  using fields = Concatenate<
      Field<&ListRewardAddresses::ledger, "on this ledger">,
      Field<&ListRewardAddresses::address, "this address">,
      Field<&ListRewardAddresses::id, "of this id">,
      Field<&ListRewardAddresses::payout_group_id, "of this group">,
      Field<&ListRewardAddresses::include_balance, "show each address's balance">,
      Field<&ListRewardAddresses::balance_timestamp, "the balance as of this moment, default now">,
      OfCustomer::fields, Paging::fields>;
};

struct ListBalances : Paging {
  std::optional<Uuid> address_id;
  using fields = Concatenate<Field<&ListBalances::address_id, "of this address">, Paging::fields>;
};

struct ListClaims : OfCustomer, Paging {
  std::optional<GroupId> payout_group_id;
  std::vector<ClaimStatus> statuses;
  std::optional<Label> chain;
  std::optional<Label> jurisdiction;
  std::optional<Timestamp> start_time;
  std::optional<Timestamp> end_time;
  std::optional<Id> id;
  using fields =
      Concatenate<Field<&ListClaims::payout_group_id, "of this group">,
                  Field<&ListClaims::statuses, "with one of these onchain_status">,
                  Field<&ListClaims::chain, "on this blockchain">,
                  Field<&ListClaims::jurisdiction, "present one of the group">,
                  Field<&ListClaims::start_time, "created at or after">,
                  Field<&ListClaims::end_time, "created at or before">,
                  Field<&ListClaims::id, "of this id">, OfCustomer::fields, Paging::fields>;
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
