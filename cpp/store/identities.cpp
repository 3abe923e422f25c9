#include "store/identities.hpp"

#include "store/client_lookups.hpp"

namespace comptroller::store {

Listing listing_for(db::Connection& connection, const ListIdentities& request, Ownership ownership,
                    const ListUse& use) {
  auto listing = make_listing<StoredIdentity>(connection, request, std::move(ownership));
  if (use.purpose == Purpose::reload) {
    listing.filter({"implied <> ?", {code_of(Provenance::implied)}});
  }
  return listing;
}

Listing listing_for(db::Connection& connection, const ListControls& request, Ownership ownership,
                    const ListUse& /*use*/) {
  auto listing = make_listing<Control>(connection, request, std::move(ownership));
  if (!request.active_at && !*request.include_deleted) {
    listing.add({Selectivity::condition,
                 {{&ListControls::by_time, ListControls::is_active, {Value::of(1)}}}});
  }
  if (request.active_at) {
    listing.range().narrow(Bound::until, *request.active_at);
    listing.filter(
        {"(deleted_at IS NULL OR deleted_at > ?)", {Value::of(request.active_at->microseconds)}});
  }
  return listing;
}

namespace {

std::optional<StoredIdentityRow> find_identity_where(db::Connection& connection,
                                                     std::string_view column, const Value& value) {
  static const std::string select =
      "SELECT " + select_list<StoredIdentity>() + ", key, implied FROM identities WHERE ";
  db::Query query = Sql{select, {}}.add(column).add(" = ?", value).query(connection);
  if (!query.step()) return std::nullopt;
  constexpr int key_column = static_cast<int>(field_count<StoredIdentity>);
  StoredIdentityRow row;
  row.key = query.column(key_column).integer;
  row.provenance = static_cast<Provenance>(query.column(key_column + 1).integer);
  row.record = read_row<StoredIdentity>(query, connection.symbols());
  return row;
}

}  // namespace

std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id) {
  BoundValues parameters(connection.symbols());
  return find_identity_where(connection, "id", parameters.identifier(id));
}

std::optional<StoredIdentityRow> find_own_identity(db::Connection& connection, std::string_view id,
                                                   std::string_view customer) {
  BoundValues parameters(connection.symbols());
  const auto key = find_own_key(connection, "identities", parameters.identifier(id),
                                key_of_customer(connection, customer));
  return key ? find_identity_where(connection, "key", Value::of(*key)) : std::nullopt;
}

std::int64_t insert_identity(db::Connection& connection, const StoredIdentity& identity,
                             Provenance provenance) {
  return insert(connection, identity, {{"implied", code_of(provenance)}});
}

void update_identity(db::Connection& connection, const StoredIdentityRow& identity) {
  update(connection, identity.key, identity.record, {{"implied", code_of(identity.provenance)}});
}

void adopt_identity(db::Connection& connection, const StoredIdentityRow& identity) {
  update_identity(connection, identity);
  // Lists of identities use only active controls; there is at most one for each type and setter.
  connection.run(
      "UPDATE controls SET identity_created_at = ? WHERE identity_key = ? AND deleted_at IS NULL",
      identity.record.created_at.microseconds, identity.key);
}

}  // namespace comptroller::store
