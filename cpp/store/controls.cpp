#include "store/controls.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "store/provenance.hpp"

namespace comptroller::store {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t unsettled = std::numeric_limits<std::int64_t>::min();

// A position among the controls of one identity, type and setter. In the order (created_at, key)
// covered_until never decreases.
struct Place {
  Value identity_key;
  Value type;
  Value set_by;
  Value created_at = Value::of(never);
  Value key = Value::of(never);
};

constexpr const char* of_place =
    " FROM controls WHERE identity_key = ?1 AND type = ?2 AND set_by = ?3";

// After a condition on identity_key: these are both columns of an index with which no other index
// begins, so that SQLite uses it whatever statistics another program's ANALYZE has stored.
constexpr const char* is_active = " AND (deleted_at IS NULL) = true";

std::int64_t end_of(const Control& control) {
  const std::optional<Timestamp>& deleted = control.deleted_at;
  return deleted ? deleted->microseconds : never;
}

// Columns of a control; the default values mean that there is no control.
struct Covered {
  std::int64_t created_at = unsettled;
  std::int64_t until = unsettled;
};

// Returns the last control that was created at `created_at` or earlier.
Covered last_until(db::Connection& connection, const Place& place, std::int64_t created_at) {
  static const std::string sql = std::string("SELECT created_at, covered_until") + of_place +
                                 " AND created_at <= ?4 ORDER BY created_at DESC, key DESC LIMIT 1";
  db::Query query = bound(connection.query(sql),
                          {place.identity_key, place.type, place.set_by, Value::of(created_at)});
  if (!query.step()) return {};
  return {query.number(0), query.number(1)};
}

// A query for the controls on one side of a place. SQLite searches an index only by the first
// column of a row value comparison, so the controls with the same created_at are selected
// separately.
db::Query query_beside(db::Connection& connection, const std::string& sql, const Place& place) {
  return bound(connection.query(sql),
               {place.identity_key, place.type, place.set_by, place.created_at, place.key});
}

// Returns the covered_until of the control before a place.
std::int64_t covered_before(db::Connection& connection, const Place& place) {
  static const std::string sql = std::string("SELECT covered_until") + of_place +
                                 " AND created_at = ?4 AND key < ?5 ORDER BY key DESC LIMIT 1";
  db::Query query = query_beside(connection, sql, place);
  if (query.step()) return query.number(0);
  return last_until(connection, place, place.created_at.integer - 1).until;
}

// Recomputes covered_until from the place of an added, changed or removed control, up to the first
// control whose value does not change. With controls created by operations this is the next
// control, because only loaded controls overlap others of their identity, type and setter.
void settle(db::Connection& connection, const Place& place) {
  static const std::string columns =
      std::string(" key, coalesce(deleted_at, 9223372036854775807), covered_until, created_at") +
      of_place;
  static const std::string sql = "SELECT" + columns +
                                 " AND created_at = ?4 AND key >= ?5 UNION ALL SELECT" + columns +
                                 " AND created_at > ?4 ORDER BY created_at, key";
  std::int64_t covered = covered_before(connection, place);
  std::vector<std::pair<std::int64_t, std::int64_t>> changed;
  {
    db::Query rows = query_beside(connection, sql, place);
    while (rows.step()) {
      covered = std::max(covered, rows.number(1));
      if (rows.number(2) == covered) break;
      changed.emplace_back(rows.number(0), covered);
    }
  }
  for (const auto& [key, until] : changed) {
    connection.run("UPDATE controls SET covered_until = ? WHERE key = ?", until, key);
  }
}

// Selects the controls with a column of their identities.
std::string select_with_identity(std::string_view condition) {
  std::string sql = "SELECT " + select_list<Control>() + ", identity_key FROM controls WHERE ";
  sql.append(condition).append(is_active);
  return sql.append(" ORDER BY identity_key, created_at, key");
}

Place place_of(db::Connection& connection, const Id& id) {
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(
      "SELECT identity_key, type, set_by, created_at, key FROM controls WHERE id = $id");
  if (!query.bind("$id", parameters.of(id)).step()) {
    throw Error(Code::internal, "a control that was read is no longer in the store");
  }
  const auto value = [&](int index) { return Value::of(query.number(index)); };
  return {value(0), value(1), value(2), value(3), value(4)};
}

}  // namespace

Sql select_active_controls(const Sql& keys) {
  return {select_with_identity("identity_key IN (" + keys.text + ")"), keys.values};
}

std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  std::span<const std::int64_t> identity_keys,
                                                  db::Query* read) {
  std::vector<std::vector<Control>> controls;
  if (!connection.dialect().is_remote) {
    for (const std::int64_t key : identity_keys) {
      controls.push_back(active_controls(connection, key));
    }
    return controls;
  }
  controls.resize(identity_keys.size());
  std::unordered_map<std::int64_t, std::size_t> places;
  std::vector<Value> keys;
  for (const std::int64_t key : identity_keys) {
    places.emplace(key, places.size());
    keys.push_back(Value::of(key));
  }
  std::optional<db::Query> selected;
  if (read == nullptr && !keys.empty()) {
    static const std::string sql = select_with_identity("identity_key = ANY(?)");
    read = &selected.emplace(connection.query_list(sql, keys));
  }
  while (read != nullptr && read->step()) {
    const auto place = places.find(read->number(static_cast<int>(field_count<Control>)));
    if (place == places.end()) continue;
    controls[place->second].push_back(read_row<Control>(*read, connection.symbols()));
  }
  return controls;
}

std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key) {
  static const std::string sql = "SELECT " + select_list<Control>() +
                                 " FROM controls WHERE identity_key = ?1" + is_active +
                                 " ORDER BY created_at, key";
  db::Query query = connection.query(sql);
  query.bind(1, identity_key);
  std::vector<Control> controls;
  while (query.step()) controls.push_back(read_row<Control>(query, connection.symbols()));
  return controls;
}

std::optional<Control> active_control(db::Connection& connection, std::int64_t identity_key,
                                      ControlType type, SetBy set_by) {
  for (Control& control : active_controls(connection, identity_key)) {
    if (control.type == type && control.set_by == set_by) return std::move(control);
  }
  return std::nullopt;
}

std::vector<ControlType> types_in_force(db::Connection& connection, std::int64_t identity_key,
                                        Timestamp at) {
  std::vector<ControlType> types;
  for (std::size_t type = 0; type < enum_texts<ControlType>.size(); ++type) {
    for (std::size_t set_by = 0; set_by < enum_texts<SetBy>.size(); ++set_by) {
      const Place place{Value::of(identity_key), code_of(static_cast<ControlType>(type)),
                        code_of(static_cast<SetBy>(set_by))};
      if (last_until(connection, place, at.microseconds).until <= at.microseconds) continue;
      types.push_back(static_cast<ControlType>(type));
      break;
    }
  }
  return types;
}

namespace {

// Inserts a control with this key; nullopt: the next one.
bool insert_new_with_key(Changes& changes, const Control& control,
                         const Stored<StoredIdentity>& identity,
                         std::optional<std::int64_t> given_key) {
  db::Connection& connection = changes.connection();
  Place place{Value::of(identity.key), code_of(control.type), code_of(control.set_by)};
  const Covered last = last_until(connection, place, never);
  // The last control has no end exactly if a control of the same identity, type and setter is
  // active.
  if (last.until == never && end_of(control) == never) return false;
  place.created_at = Value::of(control.created_at.microseconds);
  const bool is_last = last.created_at <= control.created_at.microseconds;
  const std::int64_t covered = is_last ? std::max(end_of(control), last.until) : unsettled;
  const auto key =
      insert_new(changes, control,
                 {{"key", nullable(given_key)},
                  {"identity_key", place.identity_key},
                  {"identity_created_at", Value::of(identity.record.created_at.microseconds)},
                  {"covered_until", Value::of(covered)}});
  if (key && !is_last) {
    place.key = Value::of(*key);
    settle(connection, place);
  }
  return key.has_value();
}

void insert_with_key(Changes& changes, const Control& control,
                     const Stored<StoredIdentity>& identity,
                     std::optional<std::int64_t> given_key) {
  if (insert_new_with_key(changes, control, identity, given_key)) return;
  throw Error(Code::internal, "a unique value is taken");
}

void remove_control(Changes& changes, const Stored<Control>& control) {
  db::Connection& connection = changes.connection();
  const Place place = place_of(connection, control.record.id);
  changes.before_removal<Control>();
  connection.run("DELETE FROM controls WHERE key = ?", place.key);
  // A load of the remaining controls might no longer recreate an implied identity as it is stored.
  connection.run("UPDATE identities SET implied = ?2 WHERE key = ?1 AND implied = ?3",
                 place.identity_key, code_of(Provenance::changed), code_of(Provenance::implied));
  settle(connection, place);
  changes.deleted(control.key, control.record);
}

}  // namespace

bool insert_new_control(Changes& changes, const Control& control,
                        const Stored<StoredIdentity>& identity) {
  return insert_new_with_key(changes, control, identity, std::nullopt);
}

void insert_control(Changes& changes, const Control& control,
                    const Stored<StoredIdentity>& identity) {
  insert_with_key(changes, control, identity, std::nullopt);
}

void update_control(Changes& changes, const Stored<Control>& before, const Control& after) {
  const Place place = place_of(changes.connection(), after.id);
  update(changes, before, after);
  settle(changes.connection(), place);
}

void exchange_control(Changes& changes, const Id& removed, const Control& control,
                      const Stored<StoredIdentity>& identity) {
  // SQLite would give the key of the removed control again, if it was the last.
  const std::int64_t key = changes.last_key(Control::table) + 1;
  const auto stored = find<Control>(changes.connection(), removed.value);
  if (!stored) throw Error(Code::internal, "a control that was read is no longer in the store");
  remove_control(changes, *stored);
  insert_with_key(changes, control, identity, key);
}

}  // namespace comptroller::store
