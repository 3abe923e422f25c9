// The records of the service (specification 2). A member that is not std::optional is always set.
// The name of a field is its JSON key, column, Arrow field and Python attribute. A record that can
// be loaded and listed names its table; the table's name is also the name of the resource. Error
// messages call a record `singular`.
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
  static constexpr std::string_view table = "controls", singular = "control";
  RECORD(Control, "A restriction on an identity. It is active until it is deleted.");
  FIELD(Id, id, "identifies the control");
  FIELD(ControlType, type, "what the identity may no longer do");
  FIELD(SetBy, set_by, "whether a client or the operator set it");
  FIELD(bool, is_overridable, "whether a client may delete it");
  FIELD(std::optional<Word>, reason_code, "coded reason");
  FIELD(std::optional<Note>, reason, "reason in prose, at most 1024 characters");
  FIELD(Timestamp, created_at, "when it came into force");
  FIELD(std::optional<Timestamp>, deleted_at, "when it was deleted; null while it is active",
        Nullable);
  FIELD(Id, identity_id, "the identity it restricts");
  FIELD(std::optional<Label>, created_by,
        "id of the client that created it, or a name of the operator such as ``operator:desk``");
  FIELD(std::optional<Label>, deleted_by,
        "id of the client that deleted it, or a name of the operator such as ``operator:desk``");
  FIELD(std::optional<Note>, deletion_reason, "reason for the deletion in prose");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// The deprecated booleans of an identity; each represents a SELL_ONLY control.
struct LegacyFlags {
  RECORD(LegacyFlags);
  FIELD(std::optional<bool>, user_disabled,
        "true creates a client's SELL_ONLY control, false deletes it", Deprecated);
  FIELD(
      std::optional<bool>, admin_disabled,
      "true creates an enforced SELL_ONLY control of the operator, false deletes it; operator only",
      Deprecated);
};

// The first and the last members of an identity. Answers show the derived members between them.
struct IdentityKeys {
  RECORD(IdentityKeys);
  FIELD(Id, id, "identifies the identity");
  FIELD(CustomerId, customer_id, "the customer it belongs to");
  FIELD(std::optional<Label>, ref_id, "reference id given by the client");
};
struct IdentityData {
  RECORD(IdentityData);
  FIELD(std::optional<Metadata>, metadata, "the client's own keys and values");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
};

// An identity as it is stored, exported and loaded.
struct StoredIdentity : IdentityKeys, IdentityData {
  static constexpr std::string_view table = "identities";
  RECORD(StoredIdentity);
  FIELDS_OF(IdentityKeys, IdentityData);
};

// A line of a load of identities: the stored members, and the deprecated booleans, which create
// controls. Derived members are ignored.
struct IdentityLine : StoredIdentity, LegacyFlags {
  RECORD(IdentityLine);
  FIELDS_OF(StoredIdentity, LegacyFlags);
  FIELD(std::optional<Ignored>, status, "derived, ignored");
  FIELD(std::optional<Ignored>, status_details, "derived, ignored");
};

struct StatusDetails {
  RECORD(StatusDetails, "The active controls of an identity, and the actions that they permit.");
  FIELD(std::vector<Control>, active_controls, "the controls in force");
  FIELD(std::vector<Action>, permitted_actions, "the actions that all of them permit");
};

// An identity in answers: status and the deprecated booleans are derived from its active controls.
struct Identity : StoredIdentity {
  RECORD(Identity,
         "A person or organisation that controls can restrict. Active controls set its status.");
  FIELDS_OF(IdentityKeys);
  FIELD(IdentityStatus, status, "derived from the active controls", Derived);
  FIELD(StatusDetails, status_details, "the active controls and the actions that they permit",
        Derived);
  FIELD(bool, user_disabled, "whether a client's SELL_ONLY control is active", Deprecated, Derived);
  FIELD(bool, admin_disabled, "whether an enforced SELL_ONLY control of the operator is active",
        Deprecated, Derived);
  FIELDS_OF(IdentityData);
};

struct Transfer {
  RECORD(Transfer, "One of the two transfers of an orchestration.");
  FIELD(std::optional<Label>, transfer_id, "identifies the transfer");
  FIELD(std::optional<Word>, status,
        "PENDING, PROCESSING, COMPLETED, FAILED; later versions may add values");
};

struct FailReason {
  RECORD(FailReason, "The reason why an orchestration failed.");
  FIELD(std::optional<Note>, detail, "why it failed, in prose");
};

struct CryptoEndpoint {
  RECORD(CryptoEndpoint, "A crypto address as the source or destination of an orchestration.");
  FIELD(std::optional<Label>, address_id, "identifies the address");
  FIELD(std::optional<Label>, address, "the address as received");
  FIELD(std::optional<Label>, network, "its network");
};

struct FiatSource {
  RECORD(FiatSource, "A fiat deposit as the source of an orchestration.");
  FIELD(std::optional<Label>, deposit_instructions_id, "identifies the deposit instructions");
  FIELD(std::optional<Note>, memo, "text sent with the payment");
};

struct FiatDestination {
  RECORD(FiatDestination, "A bank account as the destination of an orchestration.");
  FIELD(std::optional<Label>, bank_account_id, "identifies the bank account");
  FIELD(std::optional<Note>, memo, "text sent with the payment");
};

struct ProfileEndpoint {
  RECORD(ProfileEndpoint, "A profile as the source or destination of an orchestration.");
  FIELD(std::optional<Id>, profile_id, "the profile");
};

struct Source {
  RECORD(Source, "The source of the value of an orchestration. One member is set.");
  FIELD(std::optional<CryptoEndpoint>, crypto, "a crypto address");
  FIELD(std::optional<FiatSource>, fiat, "a fiat instrument");
  FIELD(std::optional<ProfileEndpoint>, profile, "a profile");
};

struct Destination {
  RECORD(Destination, "The destination of the value of an orchestration. One member is set.");
  FIELD(std::optional<CryptoEndpoint>, crypto, "a crypto address");
  FIELD(std::optional<FiatDestination>, fiat, "a fiat instrument");
  FIELD(std::optional<ProfileEndpoint>, profile, "a profile");
};

// Specification 2.2.
struct Orchestration {
  static constexpr std::string_view table = "orchestrations", singular = "orchestration";
  RECORD(Orchestration, "A movement of value from a source to a destination.");
  FIELD(Id, id, "identifies the orchestration");
  FIELD(std::optional<Id>, profile_id, "the profile it belongs to");
  FIELD(std::optional<Id>, identity_id, "the identity it belongs to");
  FIELD(std::optional<Id>, account_id, "the account it belongs to");
  FIELD(CustomerId, customer_id, "the customer it belongs to");
  FIELD(std::optional<Label>, ref_id, "reference id given by the client");
  FIELD(std::optional<Term>, source_asset, "asset that leaves the source");
  FIELD(std::optional<Term>, destination_asset, "asset that arrives at the destination");
  FIELD(std::optional<Amount>, source_amount,
        "amount that leaves the source, in units of source_asset");
  FIELD(std::optional<Transfer>, source_transfer, "the transfer out of the source");
  FIELD(std::optional<Transfer>, destination_transfer, "the transfer into the destination");
  FIELD(Word, status,
        "PENDING, PROCESSING, COMPLETED, FAILED, REJECTED; later versions may add values");
  FIELD(std::optional<FailReason>, fail_reason, "why it failed");
  FIELD(std::optional<Source>, source, "where the value comes from");
  FIELD(std::optional<Destination>, destination, "where the value goes");
  FIELD(std::optional<Id>, orchestration_rule_id, "the rule that initiated it");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<Metadata>, metadata, "the client's own keys and values");
};

// Specification 2.3.
struct PayoutGroup {
  static constexpr std::string_view table = "payout_groups", singular = "payout group";
  RECORD(PayoutGroup, "Reward addresses that are paid out together.");
  FIELD(GroupId, id, "identifies the group, a UUID");
  FIELD(Ledger, ledger, "the ledger it is paid on");
  FIELD(std::optional<Term>, asset_type, "the asset it is paid in");
  FIELD(std::optional<Label>, rate_id, "id of the rate that applies, as observed");
  FIELD(std::optional<Term>, jurisdiction, "where its rewards are taxed or regulated");
  FIELD(std::optional<Label>, claimer_address, "address that claims for the group");
  FIELD(std::optional<Word>, onchain_status, "status as observed; an open set of values");
  FIELD(std::optional<NonNegativeAmount>, balance, "unclaimed balance, in units of asset_type");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<Label>, manager_address, "address that manages the group");
  FIELD(std::optional<Label>, destination_address, "address that receives the payouts");
  FIELD(std::optional<Label>, onchain_group_id, "its id on chain, as observed");
  FIELD(std::optional<Timestamp>, balance_at, "when the balance was observed");
  FIELD(std::optional<Timestamp>, last_claim_all_at,
        "when the latest CLAIM_ALL claim was confirmed");
  FIELD(std::optional<ScheduleType>, schedule_type, "how often it is claimed");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 2.4.
struct RewardAddress {
  static constexpr std::string_view table = "reward_addresses", singular = "reward address";
  RECORD(RewardAddress, "A monitored address whose rewards are attributed to a payout group.");
  FIELD(Uuid, id, "identifies the address, a UUID");
  FIELD(Ledger, ledger, "the ledger of the address");
  FIELD(Label, address, "the monitored address");
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<GroupId>, payout_group_id, "the group it is attributed to");
  FIELD(std::optional<SnapshotBalance>, balance,
        "its balance at the requested time, in the asset of its group; set by lists with "
        "include_balance");
  FIELD(std::optional<Word>, status, "status as observed; an open set of values");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 2.5.
struct Claim {
  static constexpr std::string_view table = "claims", singular = "claim";
  RECORD(Claim, "A transaction that claims a payout group's rewards.");
  FIELD(Id, id, "identifies the claim");
  FIELD(GroupId, payout_group_id, "the group it claims for");
  FIELD(Word, claim_type, "CLAIM_ALL; later versions may add values");
  FIELD(std::optional<Term>, claim_schedule_id, "the schedule that started it");
  FIELD(ClaimStatus, onchain_status, "status of the transaction");
  FIELD(NonNegativeAmount, amount, "amount claimed, in units of asset_type");
  FIELD(std::optional<TransactionHash>, tx_hash, "hash of the transaction");
  FIELD(std::optional<Addresses>, addresses, "the reward addresses claimed from");
  FIELD(std::optional<Note>, error_message, "why it failed");
  FIELD(std::optional<Term>, blockchain, "the chain it runs on");
  FIELD(std::optional<Term>, asset_type, "the asset claimed");
  FIELD(std::optional<Timestamp>, submitted_at, "when it was sent to the chain");
  FIELD(std::optional<Timestamp>, confirmed_at, "when the chain confirmed it");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 4.4.
struct Balance {
  static constexpr std::string_view table = "balances";
  RECORD(Balance, "The balance of a reward address at a time, as the operator recorded it.");
  FIELD(Uuid, address_id, "the reward address");
  FIELD(NonNegativeAmount, balance, "its balance, in units of the asset of its payout group");
  FIELD(Timestamp, at, "time of the balance");
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
