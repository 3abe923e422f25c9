// The records of the service (specification 2). Each ends with its field table; a member that is
// not std::optional is always there. A field's name is its JSON key, its column, its Arrow field
// and its Python attribute.
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
  Id id;
  ControlType type{};
  SetBy set_by{};
  bool is_overridable = false;
  std::optional<Word> reason_code;
  std::optional<Note> reason;
  Timestamp created_at;
  NullableTimestamp deleted_at;
  Id identity_id;
  std::optional<Label> created_by;
  std::optional<Label> deleted_by;
  std::optional<Note> deletion_reason;
  std::optional<OwnerId> customer_id;

  using fields = Fields<
      Field<"id", &Control::id, "identifies the control">,
      Field<"type", &Control::type, "what the identity may no longer do">,
      Field<"set_by", &Control::set_by, "CLIENT, or PROVIDER: the operator of the service">,
      Field<"is_overridable", &Control::is_overridable, "true: a client may delete it">,
      Field<"reason_code", &Control::reason_code, "coded reason, a word of an open set">,
      Field<"reason", &Control::reason, "reason in prose">,
      Field<"created_at", &Control::created_at, "when it came into force">,
      Field<"deleted_at", &Control::deleted_at, "when it was lifted; null while it is active">,
      Field<"identity_id", &Control::identity_id, "the identity it restricts">,
      Field<"created_by", &Control::created_by, "client id that created it, or operator">,
      Field<"deleted_by", &Control::deleted_by, "client id that deleted it, or operator">,
      Field<"deletion_reason", &Control::deletion_reason, "why it was deleted, in prose">,
      Field<"customer_id", &Control::customer_id, "whose it is; shown to the operator">>;
};

// What the store keeps of an identity, and what exports and loads carry.
struct StoredIdentity {
  Id id;
  CustomerId customer_id;
  std::optional<Label> ref_id;
  std::optional<Metadata> metadata;
  Timestamp created_at;
  UpdatedAt updated_at;

  using fields =
      Fields<Field<"id", &StoredIdentity::id, "identifies the identity">,
             Field<"customer_id", &StoredIdentity::customer_id, "the customer it belongs to">,
             Field<"ref_id", &StoredIdentity::ref_id, "reference id given by the client">,
             Field<"metadata", &StoredIdentity::metadata, "the client's own keys and values">,
             Field<"created_at", &StoredIdentity::created_at, "creation time">,
             Field<"updated_at", &StoredIdentity::updated_at, "time of the last change">>;
};

// A line of a load of identities: what is stored, and the deprecated booleans, which make controls.
// What follows from controls is taken from them, not from the line.
struct IdentityLine : StoredIdentity {
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
  std::optional<Ignored> status;
  std::optional<Ignored> status_details;

  using fields = Concatenate<
      StoredIdentity::fields,
      Fields<Field<"user_disabled", &IdentityLine::user_disabled, "true makes the control">,
             Field<"admin_disabled", &IdentityLine::admin_disabled, "true makes the control">,
             Field<"status", &IdentityLine::status, "derived, ignored">,
             Field<"status_details", &IdentityLine::status_details, "derived, ignored">>>;
};

struct StatusDetails {
  std::vector<Control> active_controls;
  std::vector<Action> permitted_actions;

  using fields = Fields<
      Field<"active_controls", &StatusDetails::active_controls, "the controls in force">,
      Field<"permitted_actions", &StatusDetails::permitted_actions, "what all of them permit">>;
};

// An identity as it is shown: status and the deprecated booleans follow from its active controls.
struct Identity {
  Id id;
  CustomerId customer_id;
  std::optional<Label> ref_id;
  IdentityStatus status{};
  StatusDetails status_details;
  bool user_disabled = false;
  bool admin_disabled = false;
  std::optional<Metadata> metadata;
  Timestamp created_at;
  UpdatedAt updated_at;

  using fields = Fields<
      Field<"id", &Identity::id, "identifies the identity">,
      Field<"customer_id", &Identity::customer_id, "the customer it belongs to">,
      Field<"ref_id", &Identity::ref_id, "reference id given by the client">,
      Field<"status", &Identity::status, "derived from the active controls">,
      Field<"status_details", &Identity::status_details,
            "the active controls and what they permit">,
      Field<"user_disabled", &Identity::user_disabled, "deprecated: a client's SELL_ONLY stands">,
      Field<"admin_disabled", &Identity::admin_disabled,
            "deprecated: an enforced SELL_ONLY of the operator stands">,
      Field<"metadata", &Identity::metadata, "the client's own keys and values">,
      Field<"created_at", &Identity::created_at, "creation time">,
      Field<"updated_at", &Identity::updated_at, "time of the last change">>;
};

struct Transfer {
  std::optional<Label> transfer_id;
  std::optional<Word> status;

  using fields = Fields<Field<"transfer_id", &Transfer::transfer_id, "identifies the transfer">,
                        Field<"status", &Transfer::status, "a word of an open set">>;
};

struct FailReason {
  std::optional<Note> detail;

  using fields = Fields<Field<"detail", &FailReason::detail, "why it failed, in prose">>;
};

struct CryptoEndpoint {
  std::optional<Label> address_id;
  std::optional<Label> address;
  std::optional<Label> network;

  using fields = Fields<Field<"address_id", &CryptoEndpoint::address_id, "identifies the address">,
                        Field<"address", &CryptoEndpoint::address, "the address as given">,
                        Field<"network", &CryptoEndpoint::network, "its network">>;
};

struct FiatSource {
  std::optional<Label> deposit_instructions_id;
  std::optional<Note> memo;

  using fields = Fields<Field<"deposit_instructions_id", &FiatSource::deposit_instructions_id,
                              "identifies the deposit instructions">,
                        Field<"memo", &FiatSource::memo, "text that goes with the payment">>;
};

struct FiatDestination {
  std::optional<Label> bank_account_id;
  std::optional<Note> memo;

  using fields = Fields<
      Field<"bank_account_id", &FiatDestination::bank_account_id, "identifies the bank account">,
      Field<"memo", &FiatDestination::memo, "text that goes with the payment">>;
};

struct ProfileEndpoint {
  std::optional<Id> profile_id;

  using fields = Fields<Field<"profile_id", &ProfileEndpoint::profile_id, "the profile">>;
};

struct Source {
  std::optional<CryptoEndpoint> crypto;
  std::optional<FiatSource> fiat;
  std::optional<ProfileEndpoint> profile;

  using fields = Fields<Field<"crypto", &Source::crypto, "a crypto address">,
                        Field<"fiat", &Source::fiat, "a fiat instrument">,
                        Field<"profile", &Source::profile, "a profile">>;
};

struct Destination {
  std::optional<CryptoEndpoint> crypto;
  std::optional<FiatDestination> fiat;
  std::optional<ProfileEndpoint> profile;

  using fields = Fields<Field<"crypto", &Destination::crypto, "a crypto address">,
                        Field<"fiat", &Destination::fiat, "a fiat instrument">,
                        Field<"profile", &Destination::profile, "a profile">>;
};

// Specification 2.2.
struct Orchestration {
  Id id;
  std::optional<Id> profile_id;
  std::optional<Id> identity_id;
  std::optional<Id> account_id;
  CustomerId customer_id;
  std::optional<Label> ref_id;
  std::optional<Term> source_asset;
  std::optional<Term> destination_asset;
  std::optional<Amount> source_amount;
  std::optional<Transfer> source_transfer;
  std::optional<Transfer> destination_transfer;
  Word status;
  std::optional<FailReason> fail_reason;
  std::optional<Source> source;
  std::optional<Destination> destination;
  std::optional<Id> orchestration_rule_id;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<Metadata> metadata;

  using fields = Fields<
      Field<"id", &Orchestration::id, "identifies the orchestration">,
      Field<"profile_id", &Orchestration::profile_id, "the profile it belongs to">,
      Field<"identity_id", &Orchestration::identity_id, "the identity it belongs to">,
      Field<"account_id", &Orchestration::account_id, "the account it belongs to">,
      Field<"customer_id", &Orchestration::customer_id, "the customer it belongs to">,
      Field<"ref_id", &Orchestration::ref_id, "reference id given by the client">,
      Field<"source_asset", &Orchestration::source_asset, "asset that leaves the source">,
      Field<"destination_asset", &Orchestration::destination_asset, "asset that arrives">,
      Field<"source_amount", &Orchestration::source_amount, "amount, in units of source_asset">,
      Field<"source_transfer", &Orchestration::source_transfer, "the transfer out of the source">,
      Field<"destination_transfer", &Orchestration::destination_transfer,
            "the transfer into the destination">,
      Field<"status", &Orchestration::status, "a word of an open set">,
      Field<"fail_reason", &Orchestration::fail_reason, "why it failed">,
      Field<"source", &Orchestration::source, "where the value comes from">,
      Field<"destination", &Orchestration::destination, "where the value goes">,
      Field<"orchestration_rule_id", &Orchestration::orchestration_rule_id,
            "the rule that initiated it">,
      Field<"created_at", &Orchestration::created_at, "creation time">,
      Field<"updated_at", &Orchestration::updated_at, "time of the last change">,
      Field<"metadata", &Orchestration::metadata, "the client's own keys and values">>;
};

// Specification 2.3.
struct PayoutGroup {
  GroupId id;
  Ledger ledger{};
  std::optional<Term> asset_type;
  std::optional<Label> rate_id;
  std::optional<Term> jurisdiction;
  std::optional<Label> claimer_address;
  std::optional<Word> onchain_status;
  std::optional<NonNegativeAmount> balance;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<Name> name;
  std::optional<Label> manager_address;
  std::optional<Label> destination_address;
  std::optional<Label> onchain_group_id;
  std::optional<Timestamp> balance_at;
  std::optional<Timestamp> last_claim_all_at;
  std::optional<ScheduleType> schedule_type;
  std::optional<OwnerId> customer_id;

  using fields = Fields<
      Field<"id", &PayoutGroup::id, "identifies the group, a UUID">,
      Field<"ledger", &PayoutGroup::ledger, "the ledger it is paid on">,
      Field<"asset_type", &PayoutGroup::asset_type, "the asset it is paid in">,
      Field<"rate_id", &PayoutGroup::rate_id, "the rate that applies, as observed">,
      Field<"jurisdiction", &PayoutGroup::jurisdiction, "where its rewards are taxed or regulated">,
      Field<"claimer_address", &PayoutGroup::claimer_address, "address that claims for the group">,
      Field<"onchain_status", &PayoutGroup::onchain_status, "a word of an open set, as observed">,
      Field<"balance", &PayoutGroup::balance, "unclaimed balance in units of asset_type">,
      Field<"created_at", &PayoutGroup::created_at, "creation time">,
      Field<"updated_at", &PayoutGroup::updated_at, "time of the last change">,
      Field<"name", &PayoutGroup::name, "name for people">,
      Field<"manager_address", &PayoutGroup::manager_address, "address that manages the group">,
      Field<"destination_address", &PayoutGroup::destination_address, "address that is paid">,
      Field<"onchain_group_id", &PayoutGroup::onchain_group_id, "its id on chain, as observed">,
      Field<"balance_at", &PayoutGroup::balance_at, "when the balance was observed">,
      Field<"last_claim_all_at", &PayoutGroup::last_claim_all_at,
            "confirmation of its latest CLAIM_ALL">,
      Field<"schedule_type", &PayoutGroup::schedule_type, "how often it is claimed">,
      Field<"customer_id", &PayoutGroup::customer_id, "whose it is; shown to the operator">>;
};

// Specification 2.4.
struct RewardAddress {
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
      Field<"id", &RewardAddress::id, "identifies the address, a UUID">,
      Field<"ledger", &RewardAddress::ledger, "the ledger it lives on">,
      Field<"address", &RewardAddress::address, "the monitored address">,
      Field<"name", &RewardAddress::name, "name for people">,
      Field<"payout_group_id", &RewardAddress::payout_group_id, "the group it is attributed to">,
      Field<"balance", &RewardAddress::balance, "its balance at the moment asked for">,
      Field<"status", &RewardAddress::status, "a word of an open set, as observed">,
      Field<"created_at", &RewardAddress::created_at, "creation time">,
      Field<"customer_id", &RewardAddress::customer_id, "whose it is; shown to the operator">>;
};

// Specification 2.5.
struct Claim {
  Id id;
  GroupId payout_group_id;
  Word claim_type;
  std::optional<Term> claim_schedule_id;
  ClaimStatus onchain_status{};
  NonNegativeAmount amount;
  std::optional<TransactionHash> tx_hash;
  std::optional<Addresses> addresses;
  std::optional<Note> error_message;
  std::optional<Term> blockchain;
  std::optional<Term> asset_type;
  std::optional<Timestamp> submitted_at;
  std::optional<Timestamp> confirmed_at;
  Timestamp created_at;
  UpdatedAt updated_at;
  std::optional<OwnerId> customer_id;

  using fields =
      Fields<Field<"id", &Claim::id, "identifies the claim">,
             Field<"payout_group_id", &Claim::payout_group_id, "the group it claims for">,
             Field<"claim_type", &Claim::claim_type, "a word of an open set; CLAIM_ALL is one">,
             Field<"claim_schedule_id", &Claim::claim_schedule_id, "the schedule that started it">,
             Field<"onchain_status", &Claim::onchain_status, "how far the transaction has come">,
             Field<"amount", &Claim::amount, "amount claimed, in units of asset_type">,
             Field<"tx_hash", &Claim::tx_hash, "hash of the transaction">,
             Field<"addresses", &Claim::addresses, "the reward addresses claimed from">,
             Field<"error_message", &Claim::error_message, "why it failed">,
             Field<"blockchain", &Claim::blockchain, "the chain it runs on">,
             Field<"asset_type", &Claim::asset_type, "the asset claimed">,
             Field<"submitted_at", &Claim::submitted_at, "when it was sent to the chain">,
             Field<"confirmed_at", &Claim::confirmed_at, "when the chain confirmed it">,
             Field<"created_at", &Claim::created_at, "creation time">,
             Field<"updated_at", &Claim::updated_at, "time of the last change">,
             Field<"customer_id", &Claim::customer_id, "whose it is; shown to the operator">>;
};

// What an address held at a moment, as the operator recorded it (specification 4.4).
struct Balance {
  Uuid address_id;
  NonNegativeAmount balance;
  Timestamp at;

  using fields = Fields<Field<"address_id", &Balance::address_id, "the reward address">,
                        Field<"balance", &Balance::balance, "what it held">,
                        Field<"at", &Balance::at, "the moment it held it">>;
};

// Whose a record is, whichever way its shape says it; empty while nobody has said.
template <Record R>
std::string& customer_of(R& record) {
  if constexpr (std::same_as<decltype(record.customer_id), CustomerId>) {
    return record.customer_id.value;
  } else {
    if (!record.customer_id) record.customer_id.emplace();
    return record.customer_id->value;
  }
}
template <Record R>
std::string_view customer_of(const R& record) {
  if constexpr (std::same_as<decltype(record.customer_id), CustomerId>) {
    return record.customer_id.value;
  } else {
    return record.customer_id ? std::string_view(record.customer_id->value) : std::string_view();
  }
}

}  // namespace comptroller
