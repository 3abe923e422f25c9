#include "store/webhooks.hpp"

#include "store/client_lookups.hpp"
#include "store/journal.hpp"
#include "store/row_locks.hpp"
#include "store/storage.hpp"
#include "store/tables.hpp"

namespace comptroller::store {

namespace {

constexpr std::int64_t longest_write_us = std::int64_t{60} * 1'000'000;

Timestamp time_of(db::Query& row, int index) {
  return require_time(row.number(index));
}
std::optional<Timestamp> optional_time(db::Query& row, int index) {
  if (row.column(index).is_null()) return std::nullopt;
  return time_of(row, index);
}
Value value_of(const std::optional<Timestamp>& time) {
  return time ? Value::of(time->microseconds) : Value::null();
}
Value value_of(const std::optional<std::string>& text) {
  return text ? Value::of(std::string_view(*text)) : Value::null();
}

std::int64_t count_rows(db::Query query) {
  return query.step() ? query.number(0) : 0;
}

constexpr std::string_view event_columns =
    "sequence, part, key, resource, record_id, event_type, occurred_at, attempts, first_attempt_at,"
    " last_attempt_at, next_attempt_at, last_error";

std::vector<Undelivered> read_events(db::Query rows) {
  std::vector<Undelivered> events;
  while (rows.step()) {
    Undelivered& event = events.emplace_back();
    event.position = {rows.number(0), rows.number(1), rows.number(2)};
    event.resource = decode<ChangedResource>(rows.number(3));
    event.record_id = require_text(rows.column(4));
    event.event_type = require_text(rows.column(5));
    event.occurred_at = time_of(rows, 6);
    event.attempts = rows.number(7);
    event.first_attempt_at = optional_time(rows, 8);
    event.last_attempt_at = optional_time(rows, 9);
    event.next_attempt_at = optional_time(rows, 10);
    if (!rows.column(11).is_null()) event.last_error = require_text(rows.column(11));
  }
  return events;
}

std::int64_t recorded_at(db::Connection& connection, std::int64_t sequence) {
  db::Query entry = connection.query("SELECT recorded_at FROM journal WHERE sequence = ?");
  if (!entry.bind(1, sequence).step()) throw Error::damaged("the journal lacks an entry");
  return entry.number(0);
}

// Returns the first entry with records of a customer that is not archived, among them those of the
// newest archive; its entry if the customer has none.
std::int64_t first_own_entry(db::Connection& connection, const OwnerId& customer,
                             std::int64_t archived) {
  db::Query first = connection.query(
      "SELECT min(sequence) FROM (SELECT min(sequence) AS sequence FROM journal"
      " INDEXED BY journal_of_customer WHERE customer_id = ?1 AND sequence >= ?2"
      " UNION ALL SELECT min(sequence) FROM journal_batch_keys"
      " WHERE customer_id = ?1 AND sequence >= ?2) AS own");
  first.bind(1, require_integer(key_of_customer(connection, customer.value))).bind(2, archived);
  if (first.step() && !first.column(0).is_null()) return first.number(0);
  return entry_of_newest_archive(connection);
}

// Selects the first entry of a range of sequences that is not of a load.
std::string sql_of_entry_beside_loads(db::Symbols& symbols) {
  std::string loads = "0";
  for_each_table([&]<Record R>() {
    const auto operation = symbols.find(std::string(R::table).append(end_of_load));
    if (operation) loads += ", " + std::to_string(*operation);
  });
  return "SELECT sequence, recorded_at FROM journal WHERE sequence >= ? AND sequence < ?"
         " AND operation NOT IN (" +
         loads + ") ORDER BY sequence LIMIT 1";
}

}  // namespace

void insert_webhook(Changes& changes, const Webhook& webhook, const std::string& secret_id) {
  // It gets the events after its creation, whose entry is appended next.
  changes.lock_journal();
  const auto created = static_cast<std::int64_t>(journal_size(changes.connection()));
  insert(changes, webhook,
         {{"secret_id", Value::of(std::string_view(secret_id))},
          {"after_sequence", Value::of(created)},
          {"after_part", Value::of(FeedPosition::whole_entry)},
          {"after_key", Value::of(std::int64_t{0})}});
}

void delete_webhook(Changes& changes, const Stored<Webhook>& webhook) {
  forget_all_undelivered(changes.connection(), webhook.key);
  changes.connection().run("DELETE FROM webhooks WHERE key = ?", webhook.key);
  changes.deleted(webhook.key, webhook.record);
}

std::vector<Stored<Webhook>> webhooks_of(db::Connection& connection,
                                         const std::optional<std::string>& customer) {
  std::string sql = "SELECT " + select_list<Webhook>() + ", key FROM webhooks";
  if (customer) sql += " WHERE customer_id = ?";
  db::Query rows = connection.query(sql + " ORDER BY key");
  if (customer) rows.bind(1, connection.symbols().find(*customer).value_or(0));
  std::vector<Stored<Webhook>> webhooks;
  while (rows.step()) {
    webhooks.push_back({rows.number(static_cast<int>(field_count<Webhook>)),
                        read_row<Webhook>(rows, connection.symbols())});
  }
  return webhooks;
}

std::int64_t count_webhooks(db::Connection& connection,
                            const std::optional<std::string>& customer) {
  db::Query query =
      connection.query("SELECT count(*) FROM webhooks WHERE customer_id IS NOT DISTINCT FROM ?");
  query.bind(
      1, customer ? Value::of(connection.symbols().find(*customer).value_or(0)) : Value::null());
  return count_rows(std::move(query));
}

SecretIds secret_ids(db::Connection& connection, std::int64_t key) {
  db::Query row = connection.query(
      "SELECT secret_id, previous_secret_id, previous_until FROM webhooks WHERE key = ?");
  if (!row.bind(1, key).step()) throw Error(Code::not_found, "the webhook was deleted");
  SecretIds ids{.current = std::string(require_text(row.column(0)))};
  if (!row.column(1).is_null()) ids.previous = require_text(row.column(1));
  ids.previous_until = optional_time(row, 2);
  return ids;
}

void set_secret_ids(db::Connection& connection, std::int64_t key, const SecretIds& ids) {
  connection.run(
      "UPDATE webhooks SET secret_id = ?, previous_secret_id = ?, previous_until = ?"
      " WHERE key = ?",
      std::string_view(ids.current), value_of(ids.previous), value_of(ids.previous_until), key);
}

FeedPosition considered(db::Connection& connection, std::int64_t key) {
  db::Query row =
      connection.query("SELECT after_sequence, after_part, after_key FROM webhooks WHERE key = ?");
  if (!row.bind(1, key).step()) throw Error(Code::not_found, "the webhook was deleted");
  return {row.number(0), row.number(1), row.number(2)};
}

bool move_considered(db::Connection& connection, std::int64_t key, const FeedPosition& expected,
                     const FeedPosition& next) {
  return connection.run(
             "UPDATE webhooks SET after_sequence = ?, after_part = ?, after_key = ?"
             " WHERE key = ? AND after_sequence = ? AND after_part = ? AND after_key = ?",
             next.sequence, next.part, next.key, key, expected.sequence, expected.part,
             expected.key) > 0;
}

void set_considered(db::Connection& connection, std::int64_t key, const FeedPosition& next) {
  connection.run(
      "UPDATE webhooks SET after_sequence = ?, after_part = ?, after_key = ? WHERE key = ?",
      next.sequence, next.part, next.key, key);
}

std::int64_t first_entry_since(db::Connection& connection, Timestamp since,
                               const std::optional<OwnerId>& customer) {
  const auto archived = static_cast<std::int64_t>(archived_size(connection));
  const auto size = static_cast<std::int64_t>(journal_size(connection));
  // Archived entries have earlier times than the first one that is left.
  if (archived > 0 && archived < size) {
    const Timestamp first{recorded_at(
        connection, customer ? first_own_entry(connection, *customer, archived) : archived)};
    if (since < first) {
      throw Error::invalid("since", "events from this time on may be in an archive; give " +
                                        to_string(first) +
                                        " or a later time, or a cursor in `after`");
    }
  }
  // Writes take their times before they are committed, so the times of entries ascend but for the
  // longest duration of a write. The entries of a load have the time of its begin, which may be
  // hours before that of the entries around them: they do not tell what comes before them.
  const std::int64_t before = since.microseconds - longest_write_us;
  db::Query beside_loads = connection.query(sql_of_entry_beside_loads(connection.symbols()));
  std::int64_t from = archived;
  for (std::int64_t to = size; from < to;) {
    const std::int64_t middle = from + (to - from) / 2;
    if (beside_loads.bind(1, middle).bind(2, to).step() && beside_loads.number(1) < before) {
      from = beside_loads.number(0) + 1;
    } else {
      to = middle;
    }
  }
  db::Query first = connection.query(
      "SELECT sequence FROM journal WHERE sequence >= ? AND recorded_at >= ?"
      " ORDER BY sequence LIMIT 1");
  first.bind(1, from).bind(2, since.microseconds);
  return first.step() ? first.number(0) : size;
}

void keep_undelivered(db::Connection& connection, std::int64_t webhook, const Undelivered& event) {
  static const std::string sql =
      "INSERT INTO webhook_deliveries (webhook_key, " + std::string(event_columns) +
      ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
      " ON CONFLICT (webhook_key, sequence, part, key) DO UPDATE SET"
      " resource = excluded.resource, record_id = excluded.record_id,"
      " event_type = excluded.event_type, occurred_at = excluded.occurred_at,"
      " attempts = excluded.attempts, first_attempt_at = excluded.first_attempt_at,"
      " last_attempt_at = excluded.last_attempt_at, next_attempt_at = excluded.next_attempt_at,"
      " last_error = excluded.last_error";
  connection.run(sql, webhook, event.position.sequence, event.position.part, event.position.key,
                 code_of(event.resource), std::string_view(event.record_id),
                 std::string_view(event.event_type), event.occurred_at.microseconds, event.attempts,
                 value_of(event.first_attempt_at), value_of(event.last_attempt_at),
                 value_of(event.next_attempt_at), value_of(event.last_error));
}

void forget_undelivered(db::Connection& connection, std::int64_t webhook,
                        const FeedPosition& position) {
  connection.run(
      "DELETE FROM webhook_deliveries"
      " WHERE webhook_key = ? AND sequence = ? AND part = ? AND key = ?",
      webhook, position.sequence, position.part, position.key);
}

void restart_undelivered(db::Connection& connection, std::int64_t key, Timestamp now) {
  connection.run(
      "UPDATE webhook_deliveries SET attempts = 0, first_attempt_at = NULL, next_attempt_at = ?"
      " WHERE webhook_key = ? AND sequence >= 0 AND next_attempt_at > 0",  // 0: a blocked one
      now.microseconds, key);
}

void forget_all_undelivered(db::Connection& connection, std::int64_t webhook) {
  connection.run("DELETE FROM webhook_deliveries WHERE webhook_key = ?", webhook);
}

void forget_undelivered_after(db::Connection& connection, std::int64_t webhook,
                              const FeedPosition& place) {
  connection.run(
      "DELETE FROM webhook_deliveries WHERE webhook_key = ? AND sequence >= 0"
      " AND (sequence, part, key) > (?, ?, ?)",
      webhook, place.sequence, place.part, place.key);
}

std::vector<Undelivered> undelivered(db::Connection& connection, std::int64_t webhook,
                                     std::int64_t limit) {
  static const std::string sql = "SELECT " + std::string(event_columns) +
                                 " FROM webhook_deliveries WHERE webhook_key = ?"
                                 " ORDER BY sequence, part, key LIMIT ?";
  db::Query rows = connection.query(sql);
  rows.bind(1, webhook).bind(2, limit);
  return read_events(std::move(rows));
}

std::vector<Undelivered> due_events(db::Connection& connection, std::int64_t webhook, Timestamp now,
                                    std::int64_t limit) {
  static const std::string sql =
      "SELECT " + std::string(event_columns) +
      " FROM webhook_deliveries AS d INDEXED BY webhook_deliveries_by_time"
      " WHERE webhook_key = ? AND next_attempt_at <= ?"
      " AND NOT EXISTS (SELECT 1 FROM webhook_deliveries AS e"
      " WHERE e.webhook_key = d.webhook_key AND e.resource = d.resource"
      " AND e.record_id = d.record_id AND e.next_attempt_at IS NOT NULL"
      " AND (e.sequence, e.part, e.key) < (d.sequence, d.part, d.key))"
      " ORDER BY next_attempt_at, sequence, part, key LIMIT ?";
  db::Query rows = connection.query(sql);
  rows.bind(1, webhook).bind(2, now.microseconds).bind(3, limit);
  return read_events(std::move(rows));
}

std::optional<Timestamp> next_due(db::Connection& connection, std::int64_t webhook) {
  // An event that waits for an earlier one of its record is not due before that one.
  db::Query row = connection.query(
      "SELECT min(next_attempt_at) FROM webhook_deliveries INDEXED BY webhook_deliveries_by_time"
      " WHERE webhook_key = ? AND next_attempt_at > 0");
  if (!row.bind(1, webhook).step()) return std::nullopt;
  return optional_time(row, 0);
}

std::int64_t count_undelivered(db::Connection& connection, std::int64_t webhook) {
  db::Query query = connection.query(
      "SELECT count(*) FROM webhook_deliveries INDEXED BY webhook_deliveries_by_time"
      " WHERE webhook_key = ? AND next_attempt_at IS NOT NULL");
  query.bind(1, webhook);
  return count_rows(std::move(query));
}

bool has_undelivered(db::Connection& connection, std::int64_t webhook, ChangedResource resource,
                     std::string_view record_id) {
  db::Query row = connection.query(
      "SELECT 1 FROM webhook_deliveries INDEXED BY webhook_deliveries_by_record"
      " WHERE webhook_key = ? AND resource = ? AND record_id = ? LIMIT 1");
  row.bind(1, webhook).bind(2, code_of(resource));
  return row.bind(3, record_id).step();
}

bool take_lease(db::Connection& connection, const std::string& holder, Timestamp now,
                Timestamp until) {
  db::Query query = connection.query(
      "UPDATE webhook_lease SET holder = ?1, until = ?2 WHERE holder = ?1 OR until <= ?3");
  query.bind(1, std::string_view(holder)).bind(2, until.microseconds).bind(3, now.microseconds);
  return query.run() > 0;
}

bool has_lease(db::Connection& connection, const std::string& holder) {
  db::Query row =
      connection.query("SELECT holder FROM webhook_lease" + std::string(for_update(connection)));
  return row.step() && row.column(0).bytes == holder;
}

}  // namespace comptroller::store
