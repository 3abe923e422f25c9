#include "store/controls.hpp"

#include <algorithm>
#include <limits>
#include <tuple>

#include "store/sql.hpp"

namespace comptroller::store {

namespace {

constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();
constexpr std::int64_t unsettled = std::numeric_limits<std::int64_t>::min();

// The controls of one identity, type and setter; in the order (created_at, key) their covered_until
// does not decrease.
struct Series {
  std::int64_t identity_key = 0;
  ControlType type{};
  SetBy set_by{};
};

Value code_of(ClosedSet auto word) {
  return Value::of(static_cast<std::int64_t>(word));
}

// A query whose parameters 1 to 3 are the identity, type and setter.
db::Query in_series(db::Connection& connection, std::string_view sql, const Series& series) {
  db::Query query = connection.query(sql);
  query.bind(1, Value::of(series.identity_key))
      .bind(2, code_of(series.type))
      .bind(3, code_of(series.set_by));
  return query;
}

std::int64_t end_of(const Control& control) {
  const std::optional<Timestamp>& deleted = control.deleted_at.value;
  return deleted ? deleted->microseconds : never;
}

struct Covered {
  std::int64_t created_at = 0;
  std::int64_t until = unsettled;
};

// The last control of a series that was created at or before a time.
std::optional<Covered> last_control(db::Connection& connection, const Series& series,
                                    std::int64_t at) {
  db::Query query =
      in_series(connection,
                "SELECT created_at, covered_until FROM controls WHERE identity_key = ?1"
                " AND type = ?2 AND set_by = ?3 AND created_at <= ?4"
                " ORDER BY created_at DESC, key DESC LIMIT 1",
                series);
  if (!query.bind(4, Value::of(at)).step()) return std::nullopt;
  return Covered{query.column(0).integer, query.column(1).integer};
}

// Recomputes covered_until from the place of a control that was added, changed or removed, up to
// the first control whose value stays. Under the rules that is the next one at the latest: only
// loaded controls overlap others of their series.
void settle(db::Connection& connection, const Series& series, Timestamp created_at,
            std::int64_t key) {
  std::int64_t covered = unsettled;
  {
    db::Query before =
        in_series(connection,
                  "SELECT covered_until, created_at, key FROM controls WHERE identity_key = ?1"
                  " AND type = ?2 AND set_by = ?3 AND created_at = ?4 AND key < ?5"
                  " UNION ALL SELECT covered_until, created_at, key FROM controls"
                  " WHERE identity_key = ?1 AND type = ?2 AND set_by = ?3"
                  " AND created_at < ?4 ORDER BY 2 DESC, 3 DESC LIMIT 1",
                  series);
    before.bind(4, Value::of(created_at.microseconds)).bind(5, Value::of(key));
    if (before.step()) covered = before.column(0).integer;
  }
  std::vector<std::pair<std::int64_t, std::int64_t>> changed;
  {
    db::Query rows =
        in_series(connection,
                  "SELECT key, created_at, deleted_at, covered_until FROM controls"
                  " WHERE identity_key = ?1 AND type = ?2 AND set_by = ?3"
                  " AND created_at = ?4 AND key >= ?5"
                  " UNION ALL SELECT key, created_at, deleted_at, covered_until FROM controls"
                  " WHERE identity_key = ?1 AND type = ?2 AND set_by = ?3"
                  " AND created_at > ?4 ORDER BY 2, 1",
                  series);
    rows.bind(4, Value::of(created_at.microseconds)).bind(5, Value::of(key));
    while (rows.step()) {
      const Value deleted_at = rows.column(2);
      covered = std::max(covered, deleted_at.is_null() ? never : deleted_at.integer);
      if (rows.column(3).integer == covered) break;
      changed.emplace_back(rows.column(0).integer, covered);
    }
  }
  for (const auto& [changed_key, until] : changed) {
    connection.query("UPDATE controls SET covered_until = $until WHERE key = $key")
        .bind("$until", Value::of(until))
        .bind("$key", Value::of(changed_key))
        .run();
  }
}

// Where a control is in the store.
struct Place {
  std::int64_t key = 0;
  Series series;
  Timestamp created_at;
};

Place place_of(db::Connection& connection, const Id& id) {
  BoundValues parameters(connection.symbols());
  db::Query query = connection.query(
      "SELECT key, identity_key, type, set_by, created_at FROM controls WHERE id = $id");
  if (!query.bind("$id", parameters.of(id)).step()) {
    throw Error(Code::internal, "a control that was read is not in the store");
  }
  return {query.column(0).integer,
          {query.column(1).integer, decode<ControlType>(query.column(2).integer),
           decode<SetBy>(query.column(3).integer)},
          {query.column(4).integer}};
}

}  // namespace

std::vector<Control> active_controls(db::Connection& connection, std::int64_t identity_key) {
  // A unary plus: the rows are those of the index controls_active, at most one for each type and
  // setter, not those of an index in this order.
  static const std::string sql = "SELECT " + select_list<Control>() +
                                 " FROM controls WHERE identity_key = $identity"
                                 " AND deleted_at IS NULL ORDER BY +created_at, +key";
  db::Query query = connection.query(sql);
  query.bind("$identity", Value::of(identity_key));
  std::vector<Control> controls;
  while (query.step()) controls.push_back(read_row<Control>(query, connection.symbols()));
  return controls;
}

std::vector<std::vector<Control>> active_controls(db::Connection& connection,
                                                  const std::vector<std::int64_t>& identity_keys) {
  struct Found {
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
  std::vector<Found> rows;
  while (query.step()) {
    rows.push_back({query.column(key_column).integer, query.column(key_column + 1).integer,
                    read_row<Control>(query, connection.symbols())});
  }
  std::ranges::sort(rows, {}, [](const Found& row) {
    return std::tuple(row.identity_key, row.control.created_at, row.key);
  });
  std::vector<std::vector<Control>> controls(identity_keys.size());
  for (std::size_t index = 0; index < identity_keys.size(); ++index) {
    for (Found& row :
         std::ranges::equal_range(rows, identity_keys[index], {}, &Found::identity_key)) {
      controls[index].push_back(std::move(row.control));
    }
  }
  return controls;
}

std::optional<Control> active_control(db::Connection& connection, std::int64_t identity_key,
                                      ControlType type, SetBy set_by) {
  static const std::string sql =
      "SELECT " + select_list<Control>() +
      " FROM controls WHERE identity_key = ?1 AND type = ?2 AND set_by = ?3"
      " AND deleted_at IS NULL";
  db::Query query = in_series(connection, sql, {identity_key, type, set_by});
  if (!query.step()) return std::nullopt;
  return read_row<Control>(query, connection.symbols());
}

std::vector<ControlType> types_in_force(db::Connection& connection, std::int64_t identity_key,
                                        Timestamp at) {
  std::vector<ControlType> types;
  for (std::size_t type = 0; type < words_of<ControlType>.size(); ++type) {
    for (std::size_t set_by = 0; set_by < words_of<SetBy>.size(); ++set_by) {
      const Series series{identity_key, static_cast<ControlType>(type), static_cast<SetBy>(set_by)};
      const auto last = last_control(connection, series, at.microseconds);
      if (!last || last->until <= at.microseconds) continue;
      types.push_back(series.type);
      break;
    }
  }
  return types;
}

bool insert_new_control(db::Connection& connection, const Control& control,
                        const Stored<StoredIdentity>& identity) {
  const Series series{identity.key, control.type, control.set_by};
  const auto last = last_control(connection, series, never);
  // The last control is covered without an end if and only if one of its series is active.
  if (last && last->until == never && end_of(control) == never) return false;
  const bool is_last = !last || last->created_at <= control.created_at.microseconds;
  std::int64_t covered = unsettled;
  if (is_last) covered = last ? std::max(end_of(control), last->until) : end_of(control);
  const bool is_new =
      insert_new(connection, control,
                 {{"identity_key", Value::of(identity.key)},
                  {"identity_created_at", Value::of(identity.record.created_at.microseconds)},
                  {"covered_until", Value::of(covered)}});
  if (is_new && !is_last) {
    settle(connection, series, control.created_at, place_of(connection, control.id).key);
  }
  return is_new;
}

void insert_control(db::Connection& connection, const Control& control,
                    const Stored<StoredIdentity>& identity) {
  if (insert_new_control(connection, control, identity)) return;
  throw Error(Code::internal, "a unique value was taken");
}

void update_control(db::Connection& connection, const Control& control) {
  const Place place = place_of(connection, control.id);
  update(connection, place.key, control);
  settle(connection, place.series, place.created_at, place.key);
}

void remove_control(db::Connection& connection, const Id& id) {
  const Place place = place_of(connection, id);
  connection.query("DELETE FROM controls WHERE key = $key")
      .bind("$key", Value::of(place.key))
      .run();
  // An export of the remaining controls may no longer bring an implied identity back as it is.
  connection.query("UPDATE identities SET implied = 2 WHERE key = $identity AND implied = 1")
      .bind("$identity", Value::of(place.series.identity_key))
      .run();
  settle(connection, place.series, place.created_at, place.key);
}

}  // namespace comptroller::store
