// Identities and their controls.
#pragma once

#include <optional>
#include <vector>

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
  FIELD(std::optional<DerivedInput>, status, "derived, ignored");
  FIELD(std::optional<DerivedInput>, status_details, "derived, ignored");
};

struct StatusDetails {
  RECORD(StatusDetails, "The active controls of an identity, and the actions that they permit.");
  FIELD(std::vector<Control>, active_controls, "the active controls");
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

}  // namespace comptroller
