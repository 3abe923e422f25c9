#include "store/identities.hpp"

#include <algorithm>
#include <tuple>

#include "model/error.hpp"

namespace comptroller::store {

namespace {

Value flag(bool is_set) {
  return Value::of(static_cast<std::int64_t>(is_set));
}

std::vector<Control> read_controls(db::Connection& connection, std::int64_t identity_key,
                                   std::string_view condition) {
  const std::string sql = "SELECT " + select_list<Control>() +
                          " FROM controls WHERE identity_key = $identity" + std::string(condition) +
                          " ORDER BY created_at, key";
  db::Query query = connection.query(sql);
  query.bind("$identity", Value::of(identity_key));
  std::vector<Control> controls;
  while (query.step()) controls.push_back(read_row<Control>(query, connection.symbols()));
  return controls;
}

}  // namespace

Listing identities_listing(db::Connection& connection, const ListIdentities& request,
                           Ownership ownership) {
  return make_listing<StoredIdentity>(connection, request, std::move(ownership));
}

Listing controls_listing(db::Connection& connection, const ListControls& request,
                         Ownership ownership) {
  auto listing = make_listing<Control>(connection, request, std::move(ownership));
  listing.enumerate(ListControls::is_active,
                    request.active_at || request.include_deleted.value_or(false));
  if (request.active_at) {
    listing.range().narrow(Bound::until, *request.active_at);
    listing.filter(
        {"(deleted_at IS NULL OR deleted_at > ?)", {Value::of(request.active_at->microseconds)}});
  }
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
  row.is_implied = query.column(key_column + 1).integer != 0;
  row.record = read_row<StoredIdentity>(query, connection.symbols());
  return row;
}

std::int64_t insert_identity(db::Connection& connection, const StoredIdentity& identity,
                             bool is_implied) {
  return insert(connection, identity, {{"implied", flag(is_implied)}});
}

void update_identity(db::Connection& connection, const StoredIdentityRow& identity) {
  update(connection, identity.key, identity.record, {{"implied", flag(identity.is_implied)}});
  connection
      .query(
          "UPDATE controls SET identity_created_at = $created_at"
          " WHERE identity_key = $key AND identity_created_at <> $created_at")
      .bind("$created_at", Value::of(identity.record.created_at.microseconds))
      .bind("$key", Value::of(identity.key))
      .run();
}

std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key) {
  return read_controls(connection, identity_key, " AND deleted_at IS NULL");
}

std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  const std::vector<std::int64_t>& identity_keys) {
  struct Row {
    std::int64_t key = 0;
    std::int64_t identity_key = 0;
    Control control;
  };
  static const std::string sql = "SELECT " + select_list<Control>() +
                                 ", key, identity_key FROM (SELECT value AS place FROM "
                                 "json_each(?)) AS page CROSS JOIN controls"
                                 " ON controls.identity_key = page.place AND deleted_at IS NULL";
  constexpr int key_column = static_cast<int>(Control::fields::count);
  const std::string keys = json_array(identity_keys);
  db::Query query = connection.query(sql);
  query.bind(1, Value::of(std::string_view(keys)));
  std::vector<Row> rows;
  while (query.step()) {
    rows.push_back({query.column(key_column).integer, query.column(key_column + 1).integer,
                    read_row<Control>(query, connection.symbols())});
  }
  std::ranges::sort(rows, {}, [](const Row& row) {
    return std::tuple(row.identity_key, row.control.created_at, row.key);
  });
  std::vector<std::vector<Control>> controls(identity_keys.size());
  for (std::size_t index = 0; index < identity_keys.size(); ++index) {
    for (Row& row : std::ranges::equal_range(rows, identity_keys[index], {}, &Row::identity_key)) {
      controls[index].push_back(std::move(row.control));
    }
  }
  return controls;
}

std::vector<Control> all_controls(db::Connection& connection, std::int64_t identity_key) {
  return read_controls(connection, identity_key, "");
}

void insert_control(db::Connection& connection, const Control& control,
                    const Stored<StoredIdentity>& identity) {
  insert(connection, control,
         {{"identity_key", Value::of(identity.key)},
          {"identity_created_at", Value::of(identity.record.created_at.microseconds)}});
}

void update_control(db::Connection& connection, const Control& control) {
  const auto stored = find<Control>(connection, control.id.value);
  if (!stored) throw Error(Code::internal, "the control is gone");
  update(connection, stored->key, control);
}

void remove_control(db::Connection& connection, const Id& id) {
  Parameters parameters(connection.symbols());
  connection.query("DELETE FROM controls WHERE id = $id").bind("$id", parameters.of(id)).run();
}

}  // namespace comptroller::store
