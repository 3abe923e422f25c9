// The records of the service (specification 2). Each ends with its field table. A member that is
// not std::optional is always set. The name of a field is its JSON key, column, Arrow field and
// Python attribute. A record that can be loaded and listed names its table; the table's name is
// also the name of the resource. `doc` describes the record in the API description.
#pragma once

#include <optional>
#include <vector>

#include "model/addresses.hpp"
#include "model/fields.hpp"
#include "model/metadata.hpp"
#include "model/scalar.hpp"

namespace comptroller {

// Specification 2.1.
struct Control {
  static constexpr std::string_view table = "controls";
  static constexpr std::string_view doc =
      "A restriction on an identity. It is active until it is deleted.";

  Id id, identity_id;
  ControlType type{};
  SetBy set_by{};
  bool is_overridable = false;
  std::optional<Word> reason_code;
  Timestamp created_at;
  std::optional<Timestamp> deleted_at;
  std::optional<Label> created_by, deleted_by;
  std::optional<Note> reason, deletion_reason;
  std::optional<OwnerId> customer_id;

  using fields = Fields<
      Field<&Control::id, "identifies the control">,
      Field<&Control::type, "what the identity may no longer do">,
      Field<&Control::set_by, "whether a client or the operator set it">,
      Field<&Control::is_overridable, "whether a client may delete it">,
      Field<&Control::reason_code, "coded reason">,
      Field<&Control::reason, "reason in prose, at most 1024 characters">,
      Field<&Control::created_at, "when it came into force">,
      Nullable<Field<&Control::deleted_at, "when it was lifted; null while it is active">>,
      Field<&Control::identity_id, "the identity it restricts">,
      Field<&Control::created_by, "id of the client that created it, or `operator`">,
      Field<&Control::deleted_by, "id of the client that deleted it, or `operator`">,
      Field<&Control::deletion_reason, "reason for the deletion in prose">,
      Field<&Control::customer_id, "the customer it belongs to; shown to the operator only">>;
};

// The deprecated booleans of an identity; each represents a SELL_ONLY control.
struct LegacyFlags {
  std::optional<bool> user_disabled, admin_disabled;

  using fields =
      Fields<Deprecated<Field<&LegacyFlags::user_disabled,
                              "true creates a client's SELL_ONLY control, false deletes it">>,
             Deprecated<Field<&LegacyFlags::admin_disabled,
                              "true creates an enforced SELL_ONLY control of the operator, false "
                              "deletes it; operator only">>>;
};

// An identity as it is stored, exported and loaded.
struct StoredIdentity {
  static constexpr std::string_view table = "identities";

  Id id;
  CustomerId customer_id;
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  Timestamp created_at;
  UpdatedAt updated_at;

  using first_fields = Fields<Field<&StoredIdentity::id, "identifies the identity">,
                              Field<&StoredIdentity::customer_id, "the customer it belongs to">,
                              Field<&StoredIdentity::ref_id, "reference id given by the client">>;
  using last_fields = Fields<Field<&StoredIdentity::metadata, "the client's own keys and values">,
                             Field<&StoredIdentity::created_at, "creation time">,
                             Field<&StoredIdentity::updated_at, "time of the last change">>;
  using fields = Concatenate<first_fields, last_fields>;
};

// A line of a load of identities: the stored members, and the deprecated booleans, which create
// controls. Derived members are ignored.
struct IdentityLine : StoredIdentity, LegacyFlags {
  std::optional<Ignored> status, status_details;

  using fields = Concatenate<StoredIdentity::fields, LegacyFlags::fields,
                             Field<&IdentityLine::status, "derived, ignored">,
                             Field<&IdentityLine::status_details, "derived, ignored">>;
};

struct StatusDetails {
  static constexpr std::string_view doc =
      "The active controls of an identity, and the actions that they permit.";

  std::vector<Control> active_controls;
  std::vector<Action> permitted_actions;

  using fields =
      Fields<Field<&StatusDetails::active_controls, "the controls in force">,
             Field<&StatusDetails::permitted_actions, "the actions that all of them permit">>;
};

// An identity in answers: status and the deprecated booleans are derived from its active controls.
struct Identity : StoredIdentity {
  static constexpr std::string_view doc =
      "A person or organisation that controls can restrict. Active controls set its status.";

  IdentityStatus status{};
  StatusDetails status_details{};
  bool user_disabled = false;
  bool admin_disabled = false;

  using fields = Concatenate<
      first_fields, Derived<Field<&Identity::status, "derived from the active controls">>,
      Derived<
          Field<&Identity::status_details, "the active controls and the actions that they permit">>,
      Deprecated<Derived<
          Field<&Identity::user_disabled, "whether a client's SELL_ONLY control is active">>>,
      Deprecated<Derived<Field<&Identity::admin_disabled,
                               "whether an enforced SELL_ONLY control of the operator "
                               "is active">>>,
      last_fields>;
};

struct Transfer {
  static constexpr std::string_view doc = "One of the two transfers of an orchestration.";

  std::optional<Label> transfer_id;
  std::optional<Word> status;

  using fields =
      Fields<Field<&Transfer::transfer_id, "identifies the transfer">,
             Field<&Transfer::status,
                   "PENDING, PROCESSING, COMPLETED, FAILED; later versions may add values">>;
};

struct FailReason {
  static constexpr std::string_view doc = "The reason why an orchestration failed.";

  std::optional<Note> detail;

  using fields = Fields<Field<&FailReason::detail, "why it failed, in prose">>;
};

struct CryptoEndpoint {
  static constexpr std::string_view doc =
      "A crypto address as the source or destination of an orchestration.";

  std::optional<Label> address_id, address, network;

  using fields = Fields<Field<&CryptoEndpoint::address_id, "identifies the address">,
                        Field<&CryptoEndpoint::address, "the address as received">,
                        Field<&CryptoEndpoint::network, "its network">>;
};

struct FiatSource {
  static constexpr std::string_view doc = "A fiat deposit as the source of an orchestration.";

  std::optional<Label> deposit_instructions_id;
  std::optional<Note> memo;

  using fields =
      Fields<Field<&FiatSource::deposit_instructions_id, "identifies the deposit instructions">,
             Field<&FiatSource::memo, "text sent with the payment">>;
};

struct FiatDestination {
  static constexpr std::string_view doc = "A bank account as the destination of an orchestration.";

  std::optional<Label> bank_account_id;
  std::optional<Note> memo;

  using fields = Fields<Field<&FiatDestination::bank_account_id, "identifies the bank account">,
                        Field<&FiatDestination::memo, "text sent with the payment">>;
};

struct ProfileEndpoint {
  static constexpr std::string_view doc =
      "A profile as the source or destination of an orchestration.";

  std::optional<Id> profile_id;

  using fields = Fields<Field<&ProfileEndpoint::profile_id, "the profile">>;
};

struct Source {
  static constexpr std::string_view doc =
      "The source of the value of an orchestration. One member is set.";

  std::optional<CryptoEndpoint> crypto;
  std::optional<FiatSource> fiat;
  std::optional<ProfileEndpoint> profile;

  using fields =
      Fields<Field<&Source::crypto, "a crypto address">, Field<&Source::fiat, "a fiat instrument">,
             Field<&Source::profile, "a profile">>;
};

struct Destination {
  static constexpr std::string_view doc =
      "The destination of the value of an orchestration. One member is set.";

  std::optional<CryptoEndpoint> crypto;
  std::optional<FiatDestination> fiat;
  std::optional<ProfileEndpoint> profile;

  using fields = Fields<Field<&Destination::crypto, "a crypto address">,
                        Field<&Destination::fiat, "a fiat instrument">,
                        Field<&Destination::profile, "a profile">>;
};

// Specification 2.2.
struct Orchestration {
  static constexpr std::string_view table = "orchestrations";
  static constexpr std::string_view doc = "A movement of value from a source to a destination.";

  Id id;
  std::optional<Id> profile_id, identity_id, account_id, orchestration_rule_id;
  CustomerId customer_id;
  std::optional<Label> ref_id;
  std::optional<Term> source_asset, destination_asset;
  std::optional<Amount> source_amount;
  std::optional<Transfer> source_transfer, destination_transfer;
  Word status;
  std::optional<FailReason> fail_reason;
  std::optional<Source> source;
  std::optional<Destination> destination;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<Metadata> metadata;

  using fields = Fields<
      Field<&Orchestration::id, "identifies the orchestration">,
      Field<&Orchestration::profile_id, "the profile it belongs to">,
      Field<&Orchestration::identity_id, "the identity it belongs to">,
      Field<&Orchestration::account_id, "the account it belongs to">,
      Field<&Orchestration::customer_id, "the customer it belongs to">,
      Field<&Orchestration::ref_id, "reference id given by the client">,
      Field<&Orchestration::source_asset, "asset that leaves the source">,
      Field<&Orchestration::destination_asset, "asset that arrives at the destination">,
      Field<&Orchestration::source_amount,
            "amount that leaves the source, in units of source_asset">,
      Field<&Orchestration::source_transfer, "the transfer out of the source">,
      Field<&Orchestration::destination_transfer, "the transfer into the destination">,
      Field<&Orchestration::status,
            "PENDING, PROCESSING, COMPLETED, FAILED, REJECTED; later versions may add values">,
      Field<&Orchestration::fail_reason, "why it failed">,
      Field<&Orchestration::source, "where the value comes from">,
      Field<&Orchestration::destination, "where the value goes">,
      Field<&Orchestration::orchestration_rule_id, "the rule that initiated it">,
      Field<&Orchestration::created_at, "creation time">,
      Field<&Orchestration::updated_at, "time of the last change">,
      Field<&Orchestration::metadata, "the client's own keys and values">>;
};

// Specification 2.3.
struct PayoutGroup {
  static constexpr std::string_view table = "payout_groups";
  static constexpr std::string_view doc = "Reward addresses that are paid out together.";

  GroupId id;
  Ledger ledger{};
  std::optional<Term> asset_type, jurisdiction;
  std::optional<Label> rate_id, onchain_group_id;
  std::optional<Label> claimer_address, manager_address, destination_address;
  std::optional<Word> onchain_status;
  std::optional<NonNegativeAmount> balance;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<Name> name;
  std::optional<Timestamp> balance_at, last_claim_all_at;
  std::optional<ScheduleType> schedule_type;
  std::optional<OwnerId> customer_id;

  using fields = Fields<
      Field<&PayoutGroup::id, "identifies the group, a UUID">,
      Field<&PayoutGroup::ledger, "the ledger it is paid on">,
      Field<&PayoutGroup::asset_type, "the asset it is paid in">,
      Field<&PayoutGroup::rate_id, "id of the rate that applies, as observed">,
      Field<&PayoutGroup::jurisdiction, "where its rewards are taxed or regulated">,
      Field<&PayoutGroup::claimer_address, "address that claims for the group">,
      Field<&PayoutGroup::onchain_status, "status as observed; an open set of values">,
      Field<&PayoutGroup::balance, "unclaimed balance, in units of asset_type">,
      Field<&PayoutGroup::created_at, "creation time">,
      Field<&PayoutGroup::updated_at, "time of the last change">,
      Field<&PayoutGroup::name, "name for people, at most 256 characters">,
      Field<&PayoutGroup::manager_address, "address that manages the group">,
      Field<&PayoutGroup::destination_address, "address that receives the payouts">,
      Field<&PayoutGroup::onchain_group_id, "its id on chain, as observed">,
      Field<&PayoutGroup::balance_at, "when the balance was observed">,
      Field<&PayoutGroup::last_claim_all_at, "when the latest CLAIM_ALL claim was confirmed">,
      Field<&PayoutGroup::schedule_type, "how often it is claimed">,
      Field<&PayoutGroup::customer_id, "the customer it belongs to; shown to the operator only">>;
};

// Specification 2.4.
struct RewardAddress {
  static constexpr std::string_view table = "reward_addresses";
  static constexpr std::string_view doc =
      "A monitored address whose rewards are attributed to a payout group.";

  Uuid id;
  Ledger ledger{};
  Label address;
  std::optional<Name> name;
  std::optional<GroupId> payout_group_id;
  std::optional<SnapshotBalance> balance;
  std::optional<Word> status;
  Timestamp created_at;
  std::optional<OwnerId> customer_id;

  using fields = Fields<
      Field<&RewardAddress::id, "identifies the address, a UUID">,
      Field<&RewardAddress::ledger, "the ledger of the address">,
      Field<&RewardAddress::address, "the monitored address">,
      Field<&RewardAddress::name, "name for people, at most 256 characters">,
      Field<&RewardAddress::payout_group_id, "the group it is attributed to">,
      Field<&RewardAddress::balance,
            "its balance at the requested time, in the asset of its group; set by lists with "
            "include_balance">,
      Field<&RewardAddress::status, "status as observed; an open set of values">,
      Field<&RewardAddress::created_at, "creation time">,
      Field<&RewardAddress::customer_id, "the customer it belongs to; shown to the operator only">>;
};

// Specification 2.5.
struct Claim {
  static constexpr std::string_view table = "claims";
  static constexpr std::string_view doc = "A transaction that claims a payout group's rewards.";

  Id id;
  GroupId payout_group_id;
  Word claim_type;
  ClaimStatus onchain_status{};
  NonNegativeAmount amount;
  std::optional<TransactionHash> tx_hash;
  std::optional<Addresses> addresses;
  std::optional<Note> error_message;
  std::optional<Term> claim_schedule_id, blockchain, asset_type;
  std::optional<Timestamp> submitted_at, confirmed_at;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<OwnerId> customer_id;

  using fields =
      Fields<Field<&Claim::id, "identifies the claim">,
             Field<&Claim::payout_group_id, "the group it claims for">,
             Field<&Claim::claim_type, "CLAIM_ALL; later versions may add values">,
             Field<&Claim::claim_schedule_id, "the schedule that started it">,
             Field<&Claim::onchain_status, "status of the transaction">,
             Field<&Claim::amount, "amount claimed, in units of asset_type">,
             Field<&Claim::tx_hash, "hash of the transaction">,
             Field<&Claim::addresses, "the reward addresses claimed from">,
             Field<&Claim::error_message, "why it failed">,
             Field<&Claim::blockchain, "the chain it runs on">,
             Field<&Claim::asset_type, "the asset claimed">,
             Field<&Claim::submitted_at, "when it was sent to the chain">,
             Field<&Claim::confirmed_at, "when the chain confirmed it">,
             Field<&Claim::created_at, "creation time">,
             Field<&Claim::updated_at, "time of the last change">,
             Field<&Claim::customer_id, "the customer it belongs to; shown to the operator only">>;
};

// Specification 4.4.
struct Balance {
  static constexpr std::string_view table = "balances";
  static constexpr std::string_view doc =
      "The balance of a reward address at a time, as the operator recorded it.";

  Uuid address_id;
  NonNegativeAmount balance;
  Timestamp at;

  using fields =
      Fields<Field<&Balance::address_id, "the reward address">,
             Field<&Balance::balance, "its balance, in units of the asset of its payout group">,
             Field<&Balance::at, "time of the balance">>;
};

// The customer_id of a record, required or optional; empty if it is unset.
template <Record R>
std::string& customer_of(R& record) {
  if constexpr (!is_optional<decltype(record.customer_id)>) {
    return record.customer_id.value;
  } else {
    if (!record.customer_id) record.customer_id.emplace();
    return record.customer_id->value;
  }
}
template <Record R>
std::string_view customer_of(const R& record) {
  if constexpr (!is_optional<decltype(record.customer_id)>) {
    return record.customer_id.value;
  } else {
    return record.customer_id ? std::string_view(record.customer_id->value) : std::string_view();
  }
}

}  // namespace comptroller
