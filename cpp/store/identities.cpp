#include "store/identities.hpp"

#include "model/error.hpp"

namespace comptroller::store {

namespace {

Value code_of(Provenance provenance) {
  return Value::of(static_cast<std::int64_t>(provenance));
}

// A condition that one of several controls of the same identity satisfies: `column` IN the values.
template <class Kept, class T>
Condition any_control(Listing& listing, std::string_view column, const std::vector<T>& values) {
  Condition condition{"(", {}};
  for (const T& value : values) {
    Condition equal = listing.equals<Kept>(column, value);
    if (!condition.values.empty()) condition.sql += " OR ";
    condition.sql += equal.sql;
    condition.values.push_back(equal.values.front());
  }
  condition.sql += ')';
  return condition;
}

void append(Condition& condition, const Condition& more) {
  condition.sql += more.sql;
  condition.values.insert(condition.values.end(), more.values.begin(), more.values.end());
}

// Identities that have an active control with one of the values, each once: by the first such
// control.
template <class Kept, class T>
void drive_by_controls(Listing& listing, std::string_view column, const std::vector<T>& values) {
  const std::string name(column);
  const Condition matching = any_control<Kept>(listing, "earlier." + name, values);
  std::vector<Condition> conditions;
  for (const T& value : values) {
    Condition condition = listing.equals<Kept>("controls." + name, value);
    condition.sql +=
        " AND controls.deleted_at IS NULL AND NOT EXISTS (SELECT 1 FROM controls AS"
        " earlier WHERE earlier.identity_key = controls.identity_key"
        " AND earlier.deleted_at IS NULL AND earlier.key < controls.key AND ";
    append(condition, matching);
    condition.sql += ')';
    conditions.push_back(std::move(condition));
  }
  listing.choose(std::move(conditions), true);
}

template <class Kept, class T>
void filter_by_controls(Listing& listing, std::string_view identity_key, std::string_view column,
                        const std::vector<T>& values) {
  if (values.empty()) return;
  Condition condition{"EXISTS (SELECT 1 FROM controls AS other WHERE other.identity_key = " +
                          std::string(identity_key) + " AND other.deleted_at IS NULL AND ",
                      {}};
  append(condition, any_control<Kept>(listing, "other." + std::string(column), values));
  condition.sql += ')';
  listing.filter(std::move(condition));
}

Listing identities_by_controls(db::Connection& connection, const ListIdentities& request,
                               Ownership ownership) {
  std::string columns;
  for_each_field<StoredIdentity>([&]<class F>() {
    if (!columns.empty()) columns += ", ";
    columns += "identities." + std::string(F::name);
  });
  Listing listing("controls CROSS JOIN identities ON identities.key = controls.identity_key",
                  columns, StoredIdentity::fields::count, std::move(ownership),
                  connection.symbols());
  listing.keyed_by("controls.identity_created_at", "controls.identity_key");
  listing.owned_by("controls.customer_id");
  if (request.control_reason_codes.empty()) {
    drive_by_controls<ControlType>(listing, "type", request.control_types);
  } else {
    drive_by_controls<Word>(listing, "reason_code", request.control_reason_codes);
    filter_by_controls<ControlType>(listing, "controls.identity_key", "type",
                                    request.control_types);
  }
  return listing;
}

}  // namespace

Listing identities_listing(db::Connection& connection, const ListIdentities& request,
                           Ownership ownership) {
  const bool has_controls = !request.control_types.empty() || !request.control_reason_codes.empty();
  if (!has_controls || request.ref_id) {
    return identities_scan(connection, request, std::move(ownership));
  }
  Listing listing = identities_by_controls(connection, request, std::move(ownership));
  bound(listing.range(), request);
  return listing;
}

Listing identities_scan(db::Connection& connection, const ListIdentities& request,
                        Ownership ownership) {
  Listing listing("identities", select_list<StoredIdentity>(), StoredIdentity::fields::count,
                  std::move(ownership), connection.symbols());
  listing.equal<Label>("ref_id", request.ref_id);
  filter_by_controls<ControlType>(listing, "identities.key", "type", request.control_types);
  filter_by_controls<Word>(listing, "identities.key", "reason_code", request.control_reason_codes);
  bound(listing.range(), request);
  return listing;
}

Listing controls_listing(db::Connection& connection, const ListControls& request,
                         Ownership ownership) {
  Listing listing("controls", select_list<Control>(), Control::fields::count, std::move(ownership),
                  connection.symbols());
  if (request.identity_id) {
    const auto identity = find_identity(connection, request.identity_id->value);
    listing.choose({{"identity_key = ?", {Value::of(identity ? identity->key : 0)}}}, false);
  }
  listing.among<Word>("reason_code", request.reason_code);
  listing.among<ControlType>("type", request.type);
  listing.among<SetBy>("set_by", request.set_by);
  if (request.active_at) {
    listing.range().at_most(*request.active_at);
    listing.filter(
        {"(deleted_at IS NULL OR deleted_at > ?)", {Value::of(request.active_at->microseconds)}});
  } else if (!request.include_deleted.value_or(false)) {
    listing.filter({"deleted_at IS NULL", {}});
  }
  bound(listing.range(), request);
  return listing;
}

std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id) {
  static const std::string sql =
      "SELECT " + select_list<StoredIdentity>() + ", key, implied FROM identities WHERE id = ?1";
  Parameters parameters(connection.symbols());
  db::Query query = connection.query(sql);
  if (!query.bind(1, parameters.identifier(id)).step()) return std::nullopt;
  constexpr int key_column = static_cast<int>(StoredIdentity::fields::count);
  StoredIdentityRow row;
  row.key = query.column(key_column).integer;
  row.provenance = static_cast<Provenance>(query.column(key_column + 1).integer);
  row.record = read_row<StoredIdentity>(query, connection.symbols());
  return row;
}

std::int64_t insert_identity(db::Connection& connection, const StoredIdentity& identity,
                             Provenance provenance) {
  return insert_for_key(connection, identity, {{"implied", code_of(provenance)}});
}

void update_identity(db::Connection& connection, const StoredIdentityRow& identity) {
  update(connection, identity.key, identity.record, {{"implied", code_of(identity.provenance)}});
}

void adopt_identity(db::Connection& connection, const StoredIdentityRow& identity) {
  update_identity(connection, identity);
  // Identities are listed by their active controls alone; at most one for each type and setter.
  connection
      .query(
          "UPDATE controls SET identity_created_at = $created_at"
          " WHERE identity_key = $key AND deleted_at IS NULL")
      .bind("$created_at", Value::of(identity.record.created_at.microseconds))
      .bind("$key", Value::of(identity.key))
      .run();
}

}  // namespace comptroller::store
