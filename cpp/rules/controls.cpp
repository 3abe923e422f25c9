#include "rules/controls.hpp"

#include <algorithm>

#include "model/error.hpp"

namespace comptroller::rules {

namespace {

// A deprecated boolean and the control that it stands for.
struct LegacyField {
  std::string_view name;
  SetBy set_by;
  bool is_overridable;
  std::string_view reason_code;
};

constexpr LegacyField user_field{"user_disabled", SetBy::client, true, "LEGACY_USER_DISABLED"};
constexpr LegacyField admin_field{"admin_disabled", SetBy::provider, false,
                                  "LEGACY_ADMIN_DISABLED"};

const Control* find_active(std::span<const Control> active, ControlType type, SetBy set_by) {
  const auto found = std::ranges::find_if(active, [&](const Control& control) {
    return control.type == type && control.set_by == set_by;
  });
  return found == active.end() ? nullptr : &*found;
}

const Control* find_legacy(std::span<const Control> active, const LegacyField& field) {
  const Control* control = find_active(active, ControlType::sell_only, field.set_by);
  return control != nullptr && control->is_overridable == field.is_overridable ? control : nullptr;
}

Error already_stands(const Control& control) {
  return Error::conflict("a " + std::string(word(control.type)) + " control set by " +
                             std::string(word(control.set_by)) + " is active already",
                         control.id.value);
}

Control make_legacy_control(const LegacyField& field, const Id& identity_id,
                            const Principal& principal, Timestamp now, const MakeId& make_id) {
  Control control;
  control.id = Id{make_id()};
  control.identity_id = identity_id;
  control.type = ControlType::sell_only;
  control.set_by = field.set_by;
  control.is_overridable = field.is_overridable;
  control.reason_code = Word{std::string(field.reason_code)};
  control.created_at = now;
  control.created_by = Label{principal.actor()};
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

bool is_active_at(const Control& control, Timestamp time) {
  const std::optional<Timestamp>& deleted = control.deleted_at.value;
  return control.created_at <= time && (!deleted || time < *deleted);
}

Identity show_identity(const StoredIdentity& stored, std::vector<Control> active) {
  Identity identity;
  identity.id = stored.id;
  identity.customer_id = stored.customer_id;
  identity.ref_id = stored.ref_id;
  identity.status = status_of(active);
  identity.status_details.permitted_actions = permitted_actions(active);
  identity.user_disabled = find_legacy(active, user_field) != nullptr;
  identity.admin_disabled = find_legacy(active, admin_field) != nullptr;
  identity.metadata = stored.metadata;
  identity.created_at = stored.created_at;
  identity.updated_at = stored.updated_at;
  identity.status_details.active_controls = std::move(active);
  return identity;
}

void check_members(const CreateControl& request, const Principal& principal) {
  if (request.is_overridable && !principal.is_operator()) {
    throw Error::invalid("is_overridable", "is chosen by the operator only; leave it out");
  }
}

Control create_control(const CreateControl& request, std::span<const Control> active,
                       const Principal& principal, Timestamp now, std::string id) {
  check_members(request, principal);
  if (request.type == ControlType::frozen && !principal.is_operator()) {
    throw Error::field(Code::control_type_not_permitted, "type",
                       "a client may set SELL_ONLY, CLOSED or DORMANT, not FROZEN");
  }
  Control control;
  control.id = Id{std::move(id)};
  control.identity_id = request.identity_id;
  control.type = request.type;
  control.set_by = principal.is_operator() ? SetBy::provider : SetBy::client;
  control.is_overridable = request.is_overridable.value_or(!principal.is_operator());
  control.reason_code = request.reason_code;
  control.reason = request.reason;
  control.created_at = now;
  control.created_by = Label{principal.actor()};
  if (const Control* standing = find_active(active, control.type, control.set_by)) {
    throw already_stands(*standing);
  }
  return control;
}

Control delete_control(Control control, std::optional<Note> reason, const Principal& principal,
                       Timestamp now) {
  if (control.deleted_at.value) {
    throw Error(Code::already_deleted,
                "the control was deleted at " + to_string(*control.deleted_at.value));
  }
  if (!control.is_overridable && !principal.is_operator()) {
    throw Error(Code::control_not_overridable,
                "the control is not overridable: only the operator can delete it");
  }
  control.deleted_at.value = now;
  control.deleted_by = Label{principal.actor()};
  control.deletion_reason = std::move(reason);
  return control;
}

LegacyChange write_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                std::span<const Control> active, const Principal& principal,
                                Timestamp now, const MakeId& make_id) {
  if (flags.admin_disabled && !principal.is_operator()) {
    throw Error::field(Code::control_not_overridable, "admin_disabled",
                       "is the operator's; a client can neither set nor clear it");
  }
  LegacyChange change;
  const auto write = [&](const std::optional<bool>& flag, const LegacyField& field) {
    if (!flag) return;
    const Control* standing = find_legacy(active, field);
    if (*flag && standing == nullptr) {
      if (const Control* other = find_active(active, ControlType::sell_only, field.set_by)) {
        throw already_stands(*other);
      }
      change.created.push_back(make_legacy_control(field, identity_id, principal, now, make_id));
    } else if (!*flag && standing != nullptr) {
      Control lifted = *standing;
      lifted.deleted_at.value = now;
      lifted.deleted_by = Label{principal.actor()};
      change.deleted.push_back(std::move(lifted));
    }
  };
  write(flags.user_disabled, user_field);
  write(flags.admin_disabled, admin_field);
  return change;
}

std::vector<Control> load_legacy_flags(const LegacyFlags& flags, const Id& identity_id,
                                       std::span<const Control> active, const Principal& principal,
                                       Timestamp now, const MakeId& make_id) {
  std::vector<Control> created;
  const auto load = [&](const std::optional<bool>& flag, const LegacyField& field) {
    if (!flag.value_or(false)) return;
    if (find_active(active, ControlType::sell_only, field.set_by) != nullptr) return;
    created.push_back(make_legacy_control(field, identity_id, principal, now, make_id));
  };
  load(flags.user_disabled, user_field);
  load(flags.admin_disabled, admin_field);
  return created;
}

bool is_legacy_control(const Control& control) {
  return control.reason_code && (control.reason_code->value == user_field.reason_code ||
                                 control.reason_code->value == admin_field.reason_code);
}

}  // namespace comptroller::rules
