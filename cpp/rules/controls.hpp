// Identity controls: creation, deletion, the actions they permit, and the deprecated booleans that
// represent some of them (specification 2.1, 3.1). Pure.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/principal.hpp"
#include "model/records.hpp"
#include "model/requests.hpp"

namespace comptroller::rules {

using MakeId = std::function<std::string()>;

// Whether an identity with an active control of this type may take the action.
bool permits(ControlType type, Action action);

// Returns the actions that all active controls permit: BUY SELL DEPOSIT WITHDRAW without a control,
// SELL under SELL_ONLY alone, none under any other control.
std::vector<Action> permitted_actions(std::span<const Control> active);

// Returns ERROR under a FROZEN control, else DISABLED under any control, else APPROVED.
IdentityStatus status_of(std::span<const Control> active);

Identity show_identity(const StoredIdentity& stored, std::vector<Control> active);

// Throws invalid_request if a client sets is_overridable. To be called before create_control, and
// before the identity is looked up.
void check_members(const CreateControl& request, const Principal& principal);

// Returns a new control; `active` are the active controls of the identity. Throws
// control_type_not_permitted (a client sets FROZEN), already_exists (a control of that type and
// setter is active).
Control create_control(const CreateControl& request, std::span<const Control> active,
                       const Principal& principal, Timestamp now, std::string id);

// Returns the deleted control. Throws control_not_overridable (for a client), already_deleted.
Control delete_control(Control control, std::optional<Note> reason, const Principal& principal,
                       Timestamp now);

// The effect of setting the deprecated booleans: controls to insert, and deleted controls to
// update.
struct LegacyChange {
  std::vector<Control> created;
  std::vector<Control> deleted;
  bool is_empty() const { return created.empty() && deleted.empty(); }
};

// `true` creates the control of the boolean unless it is active, `false` deletes it; an unset
// boolean changes nothing. Throws control_not_overridable (a client sets admin_disabled),
// already_exists (a control of that type and setter with the opposite is_overridable is active).
LegacyChange write_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                std::span<const Control> active, const Principal& principal,
                                Timestamp now, const MakeId& make_id);

// Returns the controls that the booleans of a loaded identity create: a control for each `true`,
// unless a control of that type and setter is active.
std::vector<Control> load_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                       std::span<const Control> active, const Principal& principal,
                                       Timestamp now, const MakeId& make_id);

// Whether a deprecated boolean created this control; a loaded control replaces it.
bool is_legacy_control(const Control& control);

}  // namespace comptroller::rules
