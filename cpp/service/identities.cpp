// Identities and their controls (specification 4.1).
#include "store/identities.hpp"

#include "rules/changes.hpp"
#include "service/operation_rows.hpp"
#include "service/operations.hpp"

namespace comptroller::service {

namespace {

store::StoredIdentityRow require_identity(Context& context, const Id& id) {
  const auto& customer = context.principal.customer;
  auto stored = customer ? store::find_own_identity(context.connection, id.value, *customer)
                         : store::find_identity(context.connection, id.value);
  if (!stored) throw not_found("identity", id.value);
  return *std::move(stored);
}

Identity show(Context& context, const store::StoredIdentityRow& row) {
  return rules::show_identity(row.record, store::active_controls(context.connection, row.key));
}

// Sets the deprecated booleans by their controls; returns whether a control changed.
bool write_flags(Context& context, const store::StoredIdentityRow& row, const LegacyFlags& flags) {
  const rules::LegacyChange change = rules::write_legacy_flags(
      flags, row.record.id, store::active_controls(context.connection, row.key), context.principal,
      context.now, context.environment.make_id);
  for (const Control& deleted : change.deleted) {
    store::update_control(context.changes(), require<Control>(context, deleted.id.value), deleted);
  }
  for (Control created : change.created) {
    customer_of(created) = row.record.customer_id.value;
    store::insert_control(context.changes(), created, row);
  }
  return !change.is_empty();
}

Identity get_identity(Context& context, const ById& request) {
  return show(context, require_identity(context, request.id));
}

std::size_t size_of(const std::optional<Metadata>& metadata) {
  std::size_t bytes = 0;
  if (metadata) {
    for (const auto& [key, value] : metadata->pairs) bytes += key.size() + value.size();
  }
  return bytes;
}

PageOf<Identity> list_identities(Context& context, const ListIdentities& request) {
  const auto append = [&](std::string& answer, store::PageRows& rows) {
    std::vector<StoredIdentity> identities;
    std::vector<std::int64_t> keys;
    std::size_t bytes = 0;
    while (rows.step()) {
      identities.push_back(
          store::read_row<StoredIdentity>(rows.row(), context.connection.symbols()));
      keys.push_back(rows.position().key);
      bytes += size_of(identities.back().metadata);
      if (context.page_bytes.is_full(bytes)) rows.end();
    }
    auto controls = store::active_controls(context.connection, keys, rows.related());
    answer += R"("items":[)";
    for (std::size_t index = 0; index < keys.size(); ++index) {
      if (index > 0) answer += ',';
      json::append_record(answer,
                          rules::show_identity(identities[index], std::move(controls[index])),
                          audience_of(context.principal));
    }
    answer += ']';
  };
  return {answer_page(context, request, append)};
}

Identity update_identity(Context& context, const UpdateIdentity& request) {
  const store::StoredIdentityRow before = require_identity(context, request.id);
  store::StoredIdentityRow row = before;
  bool is_changed = write_flags(context, row, request);
  if (request.metadata) {
    row.record.metadata = request.metadata;
    is_changed = true;
  }
  if (is_changed) {
    if (row.provenance != store::Provenance::own) row.provenance = store::Provenance::changed;
    row.record.updated_at = rules::changed_at(context.now, row.record.updated_at);
    store::update_identity(context.changes(), before, row);
  }
  return show(context, row);
}

Identity put_identity(Context& context, const PutIdentity& request) {
  const auto found = store::find_identity(context.connection, request.id.value);
  store::StoredIdentityRow before;
  store::StoredIdentityRow row;
  if (found) {
    before = *found;
    row = before;
    if (request.customer_id && *request.customer_id != row.record.customer_id) {
      throw Error(Code::already_exists, "the identity belongs to another customer");
    }
  } else {
    row.record.id = request.id;
    row.record.customer_id.value = written_customer(context.principal, request.customer_id);
    row.record.created_at = context.now;
    row.record.updated_at = UpdatedAt{context.now};
    store::ensure_customer(context.connection, row.record.customer_id.value);
  }
  if (request.ref_id) row.record.ref_id = request.ref_id;
  if (request.metadata) row.record.metadata = request.metadata;
  if (row.key == 0) {
    row.key = store::insert_identity(context.changes(), row.record);
  } else {
    row.provenance = store::Provenance::own;
    row.record.updated_at = rules::changed_at(context.now, row.record.updated_at);
    store::update_identity(context.changes(), before, row);
  }
  write_flags(context, row, request);
  return show(context, row);
}

Permission permits(Context& context, const PermitsAction& request) {
  const store::StoredIdentityRow row = require_identity(context, request.id);
  const auto permit = [&](ControlType type) { return rules::permits(type, request.action); };
  if (request.at) {
    return {std::ranges::all_of(store::types_in_force(context.connection, row.key, *request.at),
                                permit)};
  }
  return {std::ranges::all_of(store::active_controls(context.connection, row.key), permit,
                              &Control::type)};
}

Control create_control(Context& context, const CreateControl& request) {
  rules::check_members(request, context.principal);
  const store::StoredIdentityRow row = require_identity(context, request.identity_id);
  Control control =
      rules::create_control(request, store::active_controls(context.connection, row.key),
                            context.principal, context.now, context.environment.make_id());
  customer_of(control) = row.record.customer_id.value;
  store::insert_control(context.changes(), control, row);
  return control;
}

Control delete_control(Context& context, const DeleteControl& request) {
  if (!request.control_id) throw Error::invalid("control_id", "is required");
  const Id& id = *request.control_id;
  const auto stored = require<Control>(context, id.value);
  if (request.identity_id && *request.identity_id != stored.record.identity_id) {
    throw not_found("control of identity " + request.identity_id->value + ":", id.value);
  }
  const Control deleted =
      rules::delete_control(stored.record, request.reason, context.principal, context.now);
  store::update_control(context.changes(), stored, deleted);
  return deleted;
}

}  // namespace

std::vector<Operation> identity_operations() {
  using enum RequestSource;
  using enum Code;
  const Endpoints identities{"identities", "/identity/identities", versioned(),
                             "identity:read_identity", "identity:write_identity"};
  const Endpoints controls{"controls", "/identity/controls", versioned(),
                           "identity:read_identity_control", "identity:write_identity_control"};
  Endpoints controls_of_all = controls;  // the operator writes them below a prefix of its own
  controls_of_all.prefixes.emplace_back(operator_prefix);
  return {
      read_row(identities, &get_identity,
               {"get", "Returns one identity with its active controls."}),
      read_row(identities, &list_identities,
               {"list", "Lists identities with their active controls."}),
      write_row<id_and_body>(
          identities, &update_identity,
          {.name = "update",
           .summary = "Sets the metadata or the deprecated booleans of an identity.",
           .route = "PUT /{id}",
           .details = "Omitted members keep their values.",
           .errors =
               {{control_not_overridable, "a client set admin_disabled"},
                {already_exists,
                 "a control of that type and setter with another is_overridable is active"}}}),
      operator_row<body>(
          identities, &put_identity,
          {.name = "put",
           .summary = "Creates an identity, or sets the given members of an existing one.",
           .route = "PUT",
           .errors = {{already_exists,
                       "the identity belongs to another customer, or a control of that type "
                       "and setter with another is_overridable is active"}}}),
      read_row(identities, &permits,
               {"permits", "Returns whether the active controls permit an action.",
                "GET /{id}/permits"}),
      read_row(controls, &get<Control>, {"get", "Returns one control, active or deleted."}),
      read_row(controls, &list<ListControls>,
               {"list", "Lists controls, by default only active controls."}),
      write_row<body>(
          controls_of_all, &create_control,
          {.name = "create",
           .summary = "Creates a control, which restricts an identity.",
           .route = "POST",
           .details = "Clients can delete a control that a client created.",
           .errors = {{control_type_not_permitted, "a client set FROZEN"},
                      {not_found, "the identity does not exist"},
                      {already_exists,
                       "a control of this type and setter is active; `existing` is its id"}}}),
      write_row<either>(
          controls_of_all, &delete_control,
          {.name = "delete",
           .summary = "Deletes a control, and returns it with deleted_at.",
           .route = "DELETE",
           .errors = {{not_found, "the control does not exist, or it belongs to another identity"},
                      {control_not_overridable, "a client may not delete this control"},
                      {already_deleted, "the control is already deleted"}}}),
  };
}

}  // namespace comptroller::service
