#include "rules/controls.hpp"

#include <algorithm>
#include <array>

#include "model/error.hpp"
#include "rules/changes.hpp"

namespace comptroller::rules {

namespace {

// A deprecated boolean and the SELL_ONLY control that it represents.
struct LegacyControl {
  std::optional<bool> LegacyFlags::* given;
  SetBy set_by;
  bool is_overridable;
  std::string_view reason_code;
};

constexpr LegacyControl user_control{&LegacyFlags::user_disabled, SetBy::client, true,
                                     "LEGACY_USER_DISABLED"};
constexpr LegacyControl admin_control{&LegacyFlags::admin_disabled, SetBy::provider, false,
                                      "LEGACY_ADMIN_DISABLED"};
constexpr std::array legacy_controls{user_control, admin_control};

const Control* find_active(std::span<const Control> active, ControlType type, SetBy set_by) {
  const auto found = std::ranges::find_if(active, [&](const Control& control) {
    return control.type == type && control.set_by == set_by;
  });
  return found == active.end() ? nullptr : &*found;
}

const Control* find_legacy(std::span<const Control> active, const LegacyControl& legacy) {
  const Control* control = find_active(active, ControlType::sell_only, legacy.set_by);
  return control != nullptr && control->is_overridable == legacy.is_overridable ? control : nullptr;
}

void check_none_active(std::span<const Control> active, ControlType type, SetBy set_by) {
  const Control* control = find_active(active, type, set_by);
  if (control == nullptr) return;
  throw Error::conflict("a " + std::string(enum_text(type)) + " control set by " +
                            std::string(enum_text(set_by)) + " is already active",
                        control->id.value);
}

Control make_control(std::string id, const Id& identity_id, const Principal& principal,
                     Timestamp now) {
  Control control;
  control.id.value = std::move(id);
  control.identity_id = identity_id;
  control.created_at = now;
  control.created_by = Label{principal.actor};
  return control;
}

Control make_legacy_control(const LegacyControl& legacy, const Id& identity_id,
                            const Principal& principal, Timestamp now, const MakeId& make_id) {
  Control control = make_control(make_id(), identity_id, principal, now);
  control.type = ControlType::sell_only;
  control.set_by = legacy.set_by;
  control.is_overridable = legacy.is_overridable;
  control.reason_code = Word{std::string(legacy.reason_code)};
  return control;
}

}  // namespace

bool permits(ControlType type, Action action) {
  return type == ControlType::sell_only && action == Action::sell;
}

std::vector<Action> permitted_actions(std::span<const Control> active) {
  std::vector<Action> actions;
  for (const Action action : {Action::buy, Action::sell, Action::deposit, Action::withdraw}) {
    if (std::ranges::all_of(active, [&](const Control& c) { return permits(c.type, action); })) {
      actions.push_back(action);
    }
  }
  return actions;
}

IdentityStatus status_of(std::span<const Control> active) {
  if (active.empty()) return IdentityStatus::approved;
  const bool is_frozen = std::ranges::any_of(
      active, [](const Control& control) { return control.type == ControlType::frozen; });
  return is_frozen ? IdentityStatus::error : IdentityStatus::disabled;
}

Identity show_identity(const StoredIdentity& stored, std::vector<Control> active) {
  Identity identity{stored};
  identity.status = status_of(active);
  identity.status_details.permitted_actions = permitted_actions(active);
  identity.user_disabled = find_legacy(active, user_control) != nullptr;
  identity.admin_disabled = find_legacy(active, admin_control) != nullptr;
  identity.status_details.active_controls = std::move(active);
  return identity;
}

void check_members(const CreateControl& request, const Principal& principal) {
  if (request.is_overridable && !principal.is_operator()) {
    throw Error::invalid("is_overridable", "only the operator can set it; leave it out");
  }
}

Control create_control(const CreateControl& request, std::span<const Control> active,
                       const Principal& principal, Timestamp now, std::string id) {
  if (request.type == ControlType::frozen && !principal.is_operator()) {
    throw Error::field(Code::control_type_not_permitted, "type",
                       "a client may set SELL_ONLY, CLOSED or DORMANT, not FROZEN");
  }
  Control control = make_control(std::move(id), request.identity_id, principal, now);
  control.set_by = principal.is_operator() ? SetBy::provider : SetBy::client;
  control.is_overridable = !principal.is_operator();
  set_given(control, request);
  check_none_active(active, control.type, control.set_by);
  return control;
}

Control delete_control(Control control, std::optional<Note> reason, const Principal& principal,
                       Timestamp now) {
  if (control.deleted_at) {
    throw Error(Code::already_deleted,
                "the control was deleted at " + to_string(*control.deleted_at));
  }
  if (!control.is_overridable && !principal.is_operator()) {
    throw Error(Code::control_not_overridable,
                "the control is not overridable: only the operator can delete it");
  }
  control.deleted_at = not_before(control.created_at, now);
  control.deleted_by = Label{principal.actor};
  control.deletion_reason = std::move(reason);
  return control;
}

LegacyChange write_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                std::span<const Control> active, const Principal& principal,
                                Timestamp now, const MakeId& make_id) {
  if (flags.admin_disabled && !principal.is_operator()) {
    throw Error::field(Code::control_not_overridable, "admin_disabled",
                       "only the operator can change it");
  }
  LegacyChange change;
  for (const LegacyControl& legacy : legacy_controls) {
    const std::optional<bool>& given = flags.*legacy.given;
    if (!given) continue;
    const Control* control = find_legacy(active, legacy);
    if (*given && control == nullptr) {
      check_none_active(active, ControlType::sell_only, legacy.set_by);
      change.created.push_back(make_legacy_control(legacy, identity_id, principal, now, make_id));
    } else if (!*given && control != nullptr) {
      Control& deleted = change.deleted.emplace_back(*control);
      deleted.deleted_at = not_before(deleted.created_at, now);
      deleted.deleted_by = Label{principal.actor};
    }
  }
  return change;
}

std::vector<Control> load_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                       std::span<const Control> active, const Principal& principal,
                                       Timestamp now, const MakeId& make_id) {
  std::vector<Control> created;
  for (const LegacyControl& legacy : legacy_controls) {
    if (!(flags.*legacy.given).value_or(false)) continue;
    if (find_active(active, ControlType::sell_only, legacy.set_by) != nullptr) continue;
    created.push_back(make_legacy_control(legacy, identity_id, principal, now, make_id));
  }
  return created;
}

bool is_legacy_control(const Control& control) {
  return std::ranges::any_of(legacy_controls, [&](const LegacyControl& legacy) {
    return control.reason_code && control.reason_code->value == legacy.reason_code;
  });
}

}  // namespace comptroller::rules
