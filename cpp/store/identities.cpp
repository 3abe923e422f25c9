#include "store/identities.hpp"

#include "model/lists.hpp"
#include "store/client_lookups.hpp"

namespace comptroller::store {

Listing listing_for(db::Connection& connection, const ListIdentities& request, Ownership ownership,
                    const ListUse& use) {
  auto listing = make_listing<StoredIdentity>(connection, request, std::move(ownership));
  if (use.purpose == Purpose::exporting) {
    listing.filter({"implied <> ?", {code_of(Provenance::implied)}});
  }
  listing.relate(&select_active_controls);
  return listing;
}

Listing listing_for(db::Connection& connection, const ListControls& request, Ownership ownership,
                    const ListUse& /*use*/) {
  auto listing = make_listing<Control>(connection, request, std::move(ownership));
  if (!request.active_at && request.include_deleted == false) {
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

constexpr int key_column = static_cast<int>(field_count<StoredIdentity>);

const std::string& columns_of_identity() {
  static const std::string columns =
      select_list<StoredIdentity>() + ", key, implied, id, customer_id";
  return columns;
}

StoredIdentityRow read_identity(db::Query& query, db::Symbols& symbols) {
  StoredIdentityRow row;
  row.key = query.number(key_column);
  const std::int64_t provenance = query.number(key_column + 1);
  query.locate(key_column + 1, 0, [&] {
    if (provenance < 0 || provenance > static_cast<std::int64_t>(Provenance::changed)) {
      throw Error::damaged("a code has no value");
    }
  });
  row.provenance = static_cast<Provenance>(provenance);
  row.record = read_row<StoredIdentity>(query, symbols);
  return row;
}

std::optional<StoredIdentityRow> find_identity_where(db::Connection& connection,
                                                     const Sql& condition) {
  static const std::string select = "SELECT " + columns_of_identity() + " FROM identities WHERE ";
  db::Query query = Sql{select, {}}.add(condition).add(for_update(connection)).query(connection);
  if (!query.step()) return std::nullopt;
  return read_identity(query, connection.symbols());
}

}  // namespace

std::optional<StoredIdentityRow> find_identity(db::Connection& connection, std::string_view id) {
  BoundValues parameters(connection.symbols());
  return find_identity_where(connection, {"id = ?", {parameters.identifier(id)}});
}

std::optional<StoredIdentityRow> find_own_identity(db::Connection& connection, std::string_view id,
                                                   std::string_view customer) {
  BoundValues parameters(connection.symbols());
  const Value value = parameters.identifier(id);
  const Value owner = key_of_customer(connection, customer);
  db::Query query =
      connection.query(select_last_up_to_id(connection, columns_of_identity(), "identities"));
  const bool is_found = query.bind(1, value).step() && is_own(query, key_column + 2, value, owner);
  if (connection.locks_rows()) {
    return find_identity_where(connection, own_row(is_found ? value : unused_id(), owner));
  }
  if (!is_found) return std::nullopt;
  return read_identity(query, connection.symbols());
}

std::int64_t insert_identity(Changes& changes, const StoredIdentity& identity,
                             Provenance provenance) {
  return insert(changes, identity, {{"implied", code_of(provenance)}});
}

void update_identity(Changes& changes, const StoredIdentityRow& before,
                     const StoredIdentityRow& after) {
  update(changes, before, after.record, {{"implied", code_of(after.provenance)}});
}

void adopt_identity(Changes& changes, const StoredIdentityRow& before,
                    const StoredIdentityRow& after) {
  update_identity(changes, before, after);
  // Lists of identities use only active controls; there is at most one for each type and setter.
  changes.connection().run(
      "UPDATE controls INDEXED BY controls_by_identity SET identity_created_at = ?"
      " WHERE identity_key = ? AND (deleted_at IS NULL) = true",
      after.record.created_at.microseconds, after.key);
}

}  // namespace comptroller::store
