// Identity controls: who may set and lift which, what they permit, and the deprecated booleans that
// are another view of them (specification 2.1, 3.1). Pure: state in, state or Error out.
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

// Whether an active control of this type leaves an action permitted.
bool permits(ControlType type, Action action);

// What all active controls permit: BUY SELL DEPOSIT WITHDRAW without any, SELL under SELL_ONLY
// alone, nothing under any other.
std::vector<Action> permitted_actions(std::span<const Control> active);

// ERROR under a FROZEN control, else DISABLED under any, else APPROVED.
IdentityStatus status_of(std::span<const Control> active);

// In force from created_at up to, not at, deleted_at.
bool is_active_at(const Control& control, Timestamp moment);

Identity show_identity(const StoredIdentity& stored, std::vector<Control> active);

// Refuses a client that chooses is_overridable: invalid_request, before anything is looked for.
void check_members(const CreateControl& request, const Principal& principal);

// A new control. `active` are those of the identity. Refuses: control_type_not_permitted (a client
// setting FROZEN), invalid_request (a client choosing is_overridable), already_exists (one of that
// type and setter stands).
Control create_control(const CreateControl& request, std::span<const Control> active,
                       const Principal& principal, Timestamp now, std::string id);

// The control, lifted. Refuses: control_not_overridable (to a client), already_deleted.
Control delete_control(Control control, std::optional<Note> reason, const Principal& principal,
                       Timestamp now);

// What writing the deprecated booleans does: controls to add and controls as they are when lifted.
struct LegacyChange {
  std::vector<Control> created;
  std::vector<Control> deleted;
  bool is_empty() const { return created.empty() && deleted.empty(); }
};

struct LegacyFlags {
  std::optional<bool> user_disabled;
  std::optional<bool> admin_disabled;
};

// `true` makes the flag's control unless it stands, `false` lifts it, nothing leaves it. Refuses:
// control_not_overridable (a client naming admin_disabled), already_exists (a control of that type
// and setter with the other is_overridable stands).
LegacyChange write_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                std::span<const Control> active, const Principal& principal,
                                Timestamp now, const MakeId& make_id);

// The controls that a loaded identity's flags make: for `true`, unless one of that type and setter
// stands.
std::vector<Control> load_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                       std::span<const Control> active, const Principal& principal,
                                       Timestamp now, const MakeId& make_id);

// Whether this control came from a deprecated boolean, so that a loaded one takes its place.
bool is_legacy_control(const Control& control);

}  // namespace comptroller::rules
