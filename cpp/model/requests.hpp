// Requests of operations: the parameters and the members of the body, as one record (specification
// 4). A member that is not std::optional and not an array is required. The body of a request with a
// `body_envelope` may contain it in a member of this name, as {"address": {...}}
// (specification 4.4).
#pragma once

#include <optional>

#include "model/lists.hpp"

namespace comptroller {

// One record by its id.
struct ById {
  RECORD(ById);
  FIELD(Id, id, "identifies the record");
};

struct UpdateIdentity : ById, LegacyFlags {
  RECORD(UpdateIdentity);
  FIELDS_OF(ById, LegacyFlags);
  FIELD(std::optional<Metadata>, metadata, "replaces the stored metadata; at most 50 keys");
};

// The customer that a new record belongs to.
struct NewOwner : ListedOwner {
  RECORD(NewOwner);
  BASE_FIELD(customer_id,
             "the customer it belongs to; default: the client's own, `default` for the operator",
             OwnerOfNew);
};

struct PutIdentity : ById, ListedOwner, LegacyFlags {
  RECORD(PutIdentity);
  FIELDS_OF(ById);
  BASE_FIELD(customer_id, "the customer it belongs to; default of a new identity: `default`");
  FIELD(std::optional<Label>, ref_id, "reference id given by the client");
  FIELD(std::optional<Metadata>, metadata, "replaces the stored metadata; at most 50 keys");
  FIELDS_OF(LegacyFlags);
};

struct PermitsAction : ById {
  RECORD(PermitsAction);
  FIELDS_OF(ById);
  FIELD(Action, action, "the action to check");
  FIELD(std::optional<Timestamp>, at,
        "checks the controls that were active at this time; default: now");
};

struct Permission {
  RECORD(Permission, "Whether an action is permitted.");
  FIELD(bool, permitted, "whether the action is permitted");
};

struct CreateControl {
  RECORD(CreateControl);
  FIELD(Id, identity_id, "the identity to restrict");
  FIELD(ControlType, type, "type of the restriction; only the operator can set FROZEN");
  FIELD(Word, reason_code, "coded reason in upper case, such as CUSTOMER_REQUEST");
  FIELD(std::optional<Note>, reason, "reason in prose, at most 1024 characters");
  FIELD(std::optional<bool>, is_overridable, "whether a client may delete it; operator only",
        OperatorDefault<false>);
};

struct DeleteControl {
  RECORD(DeleteControl);
  FIELD(std::optional<Id>, control_id, "the control to delete");
  FIELD(std::optional<Id>, id, "another name of control_id", AliasOf<"control_id">);
  FIELD(std::optional<Id>, identity_id, "the identity it must belong to");
  FIELD(std::optional<Note>, reason, "reason for the deletion in prose, at most 1024 characters");
};

struct CreatePayoutGroup : NewOwner {
  RECORD(CreatePayoutGroup);
  FIELD(Ledger, ledger, "the ledger it is paid on");
  FIELD(Term, asset_type, "the asset it is paid in");
  FIELD(Term, jurisdiction, "the country or region whose law applies to it");
  FIELD(Name, name, "name for people, at most 256 characters");
  FIELD(Label, claimer_address, "address that claims for the group, valid on the ledger",
        LedgerAddress);
  FIELD(std::optional<ScheduleType>, schedule_type, "how often it is claimed");
  FIELDS_OF(NewOwner);
};

struct UpdatePayoutGroup : ById {
  RECORD(UpdatePayoutGroup);
  FIELDS_OF(ById);
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<Term>, jurisdiction, "the country or region whose law applies to it");
};

struct ObservePayoutGroup : ById {
  RECORD(ObservePayoutGroup);
  FIELDS_OF(ById);
  FIELD(std::optional<Word>, onchain_status, "status as observed, in upper case");
  FIELD(std::optional<NonNegativeAmount>, balance,
        "unclaimed balance, in units of the group's asset_type");
  FIELD(std::optional<Timestamp>, balance_at, "when the balance was observed; default now");
  FIELD(std::optional<Label>, rate_id, "id of the rate that applies");
  FIELD(std::optional<Label>, onchain_group_id, "its id on chain");
  FIELD(std::optional<Timestamp>, last_claim_all_at,
        "when the latest CLAIM_ALL claim was confirmed");
};

struct CreateRewardAddress : NewOwner {
  static constexpr std::string_view body_envelope = "address";
  RECORD(CreateRewardAddress);
  FIELD(Ledger, ledger, "the ledger of the address");
  FIELD(Label, address,
        "the address to monitor, valid on the ledger; mixed-case hex needs a correct EIP-55 "
        "checksum",
        LedgerAddress);
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<GroupId>, payout_group_id,
        "the payout group to attribute it to, on the same ledger");
  FIELDS_OF(NewOwner);
};

struct UpdateRewardAddress : ById {
  static constexpr std::string_view body_envelope = "address";
  RECORD(UpdateRewardAddress);
  FIELDS_OF(ById);
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<GroupId>, payout_group_id,
        "the payout group to attribute it to, on the same ledger");
};

struct ObserveRewardAddress : ById {
  RECORD(ObserveRewardAddress);
  FIELDS_OF(ById);
  FIELD(Word, status, "status as observed, in upper case");
};

struct SubmitClaim : ById {
  RECORD(SubmitClaim);
  FIELDS_OF(ById);
  FIELD(Label, tx_hash, "hash of the transaction");
  FIELD(std::optional<Timestamp>, at, "when it was sent; default now");
};

struct ConfirmClaim : ById {
  RECORD(ConfirmClaim);
  FIELDS_OF(ById);
  FIELD(std::optional<Timestamp>, at, "when it was confirmed; default now");
};

struct FailClaim : ById {
  RECORD(FailClaim);
  FIELDS_OF(ById);
  FIELD(Note, error_message, "why it failed, at most 1024 characters");
};

}  // namespace comptroller
