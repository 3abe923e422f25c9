#include "service/webhook_delivery.hpp"

#include <array>

#include "json/raw_members.hpp"
#include "json/writer.hpp"
#include "model/error.hpp"
#include "rules/controls.hpp"
#include "rules/webhooks.hpp"
#include "service/authorisation.hpp"
#include "store/controls.hpp"
#include "store/journal.hpp"
#include "store/tables.hpp"

namespace comptroller::service {

namespace {

constexpr std::int64_t microseconds = 1'000'000;
// More events than this wait in the journal instead.
constexpr std::int64_t max_undelivered = 1000;
constexpr std::array resources_with_events{
    ChangedResource::identities,       ChangedResource::controls,
    ChangedResource::orchestrations,   ChangedResource::payout_groups,
    ChangedResource::reward_addresses, ChangedResource::claims};

// The present state of a record.
struct ShownRecord {
  std::int64_t key = 0;
  std::string status = {};
  std::string data = {};  // JSON, as its `get` answers it
};

template <Record R>
ShownRecord show_record(db::Connection& connection, const store::Stored<R>& stored,
                        Audience audience) {
  ShownRecord shown{.key = stored.key};
  if constexpr (std::same_as<R, StoredIdentity>) {
    shown.data = json::to_text(
        rules::show_identity(stored.record, store::active_controls(connection, stored.key)),
        audience);
  } else {
    shown.data = json::to_text(stored.record, audience);
  }
  if constexpr (std::same_as<R, Claim>) shown.status = enum_text(stored.record.onchain_status);
  if constexpr (std::same_as<R, Orchestration>) shown.status = stored.record.status.value;
  return shown;
}

// Returns nullopt for records without events, and for one that does not exist.
std::optional<ShownRecord> find_record(db::Connection& connection, ChangedResource resource,
                                       std::string_view id, Audience audience) {
  std::optional<ShownRecord> shown;
  store::for_each_table([&]<Record R>() {
    if constexpr (requires(R record) { record.id; }) {
      if (R::table != enum_text(resource)) return;
      if (const auto stored = store::find<R>(connection, id)) {
        shown = show_record<R>(connection, *stored, audience);
      }
    }
  });
  return shown;
}

std::string body_of(const store::Undelivered& event, std::string_view data) {
  std::string body = R"({"type":)";
  json::JsonWriter(body).write(std::string_view(event.event_type));
  body += R"(,"timestamp":)";
  json::JsonWriter(body).write(event.occurred_at);
  return body.append(R"(,"data":)").append(data).append("}");
}

Destination destination_of(db::Connection& connection, const store::Stored<Webhook>& stored,
                           std::string_view key) {
  const Webhook& webhook = stored.record;
  std::optional<std::string> customer;
  if (webhook.customer_id) customer = webhook.customer_id->value;
  return {webhook.updated_at, webhook.url.value, std::move(customer),
          WebhookSigners(key, store::secret_ids(connection, stored.key))};
}

// Collects the events of one webhook.
class Taking {
 public:
  Taking(db::Connection& connection, const EventQuery& query, const store::Stored<Webhook>& stored,
         std::string key)
      : connection_(connection),
        query_(query),
        webhook_(stored.record),
        key_(std::move(key)),
        audience_(webhook_.customer_id ? Audience::client : Audience::provider),
        batch_{.destination = destination_of(connection, stored, key_)} {}

  EventBatch run(Timestamp now) {
    for (store::Undelivered& event :
         store::due_events(connection_, query_.webhook, now, query_.max_retries)) {
      add_retry(std::move(event));
    }
    batch_.next_due = store::next_due(connection_, query_.webhook);
    batch_.next = query_.after;
    if (query_.max_events > 0 &&
        store::count_undelivered(connection_, query_.webhook) < max_undelivered) {
      add_new();
    }
    return std::move(batch_);
  }

 private:
  void add_retry(store::Undelivered event) {
    std::string data = "{}";  // of a test
    if (event.position.sequence != store::test_sequence) {
      const auto shown = find_record(connection_, event.resource, event.record_id, audience_);
      data = shown ? shown->data : "null";
    }
    add(batch_.retries, std::move(event), data, false);
  }

  void add_new() {
    store::FeedQuery feed{.after = query_.after,
                          .resources = {resources_with_events.begin(), resources_with_events.end()},
                          .limit = static_cast<std::size_t>(query_.max_events)};
    if (webhook_.customer_id) feed.customer = webhook_.customer_id->value;
    const store::FeedPage page = store::read_feed(connection_, feed);
    for (const store::FeedChange& each : page.changes) add_change(each);
    batch_.next = page.end;
    batch_.is_at_end = !page.has_more;
  }

  void add_change(const store::FeedChange& each) {
    const Change& change = each.change;
    if (!change.after) return;  // the record was removed
    const auto shown = find_record(connection_, change.resource, change.id.value, audience_);
    if (!shown) return;
    const json::RawMembers written = json::raw_members(change.after->text);
    const rules::RecordChange kind{.table = enum_text(change.resource),
                                   .is_new = !change.before,
                                   .sets_deletion = written.contains("deleted_at"),
                                   .status = status_after(each, written, *shown)};
    const auto type = rules::event_type(kind);
    if (!type || !rules::matches_event_type(webhook_.event_types, *type)) return;
    add(batch_.events,
        {.position = each.position,
         .resource = change.resource,
         .record_id = change.id.value,
         .event_type = *type,
         .occurred_at = change.recorded_at},
        shown->data,
        store::has_undelivered(connection_, query_.webhook, change.resource, change.id.value));
  }

  // Returns the status of a record after a change, which need not set it.
  std::string status_after(const store::FeedChange& each, const json::RawMembers& written,
                           const ShownRecord& shown) {
    if (shown.status.empty()) return {};
    const std::string_view table = enum_text(each.change.resource);
    const std::string_view member = store::status_member(table);
    if (written.contains(member)) return json::plain_text(written, member);
    return store::status_after(connection_, table, shown.key, each.position.sequence)
        .value_or(shown.status);
  }

  void add(std::vector<WebhookEvent>& events, store::Undelivered event, std::string_view data,
           bool is_blocked) {
    WebhookEvent added{.event = std::move(event), .is_blocked = is_blocked};
    added.webhook_id = event_id(key_, added.event.position, added.event.occurred_at);
    added.body = body_of(added.event, data);
    events.push_back(std::move(added));
  }

  db::Connection& connection_;
  const EventQuery& query_;
  const Webhook& webhook_;
  std::string key_;
  Audience audience_;
  EventBatch batch_;
};

std::optional<store::Stored<Webhook>> find_webhook(db::Connection& connection, std::int64_t key) {
  return store::find_where<Webhook>(connection, {"key = ?", {db::Value::of(key)}});
}

void require_operator(Service& service, const Principal& principal) {
  service.check_usable();
  require_scope(principal, operator_write, true);
}

}  // namespace

WebhookSigners::WebhookSigners(std::string_view key, const store::SecretIds& ids)
    : current_(key, ids.current) {
  if (!ids.previous || !ids.previous_until) return;
  previous_.emplace(key, *ids.previous);
  previous_until_ = *ids.previous_until;
}

std::string WebhookSigners::sign(std::string_view content, Timestamp now) const {
  std::string signatures = current_.sign(content);
  if (previous_ && now < previous_until_) signatures += ' ' + previous_->sign(content);
  return signatures;
}

bool is_webhook_key_shared(Service& service, const Principal& principal) {
  require_operator(service, principal);
  return is_webhook_key_shared(service.environment(), *service.database()->reader());
}

void share_webhook_key(Service& service, const Principal& principal) {
  if (is_webhook_key_shared(service, principal)) return;  // a write may wait for a load
  service.database()->write(
      [&](db::Connection& connection) { share_webhook_key(service.environment(), connection); });
}

std::vector<ActiveWebhook> active_webhooks(Service& service, const Principal& principal) {
  require_operator(service, principal);
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  std::vector<ActiveWebhook> active;
  std::string key;
  for (const auto& stored : store::webhooks_of(*connection, std::nullopt)) {
    const Webhook& webhook = stored.record;
    if (webhook.status != WebhookStatus::active) continue;
    if (key.empty()) key = require_webhook_key(service.environment(), *connection);
    active.push_back({stored.key, webhook.id.value, store::considered(*connection, stored.key),
                      destination_of(*connection, stored, key)});
  }
  return active;
}

EventBatch take_events(Service& service, const Principal& principal, const EventQuery& query) {
  require_operator(service, principal);
  service.sequence_entries();
  const db::Lease connection = service.database()->reader();
  const db::Snapshot snapshot(*connection);
  const auto stored = find_webhook(*connection, query.webhook);
  if (!stored || stored->record.status != WebhookStatus::active) {
    throw Error(Code::not_found, "the webhook was deleted or paused");
  }
  return Taking(*connection, query, *stored,
                require_webhook_key(service.environment(), *connection))
      .run(service.environment().now());
}

bool report_deliveries(Service& service, const Principal& principal, const DeliveryReport& report) {
  require_operator(service, principal);
  bool is_stored = false;
  service.database()->write([&](db::Connection& connection) {
    is_stored = store::has_lease(connection, report.holder) &&
                store::move_considered(connection, report.webhook, report.after, report.next);
    if (!is_stored || report.outcomes.empty()) return;
    const auto webhook = find_webhook(connection, report.webhook);
    for (const auto& [event, is_delivered] : report.outcomes) {
      const bool is_test = event.position.sequence == store::test_sequence;
      // The types may have changed since the event was sent.
      const bool is_selected =
          webhook && rules::matches_event_type(webhook->record.event_types, event.event_type);
      if (!is_test && (is_delivered || !is_selected)) {
        store::forget_undelivered(connection, report.webhook, event.position);
      } else {
        store::keep_undelivered(connection, report.webhook, event);
      }
    }
  });
  return is_stored;
}

bool lease_delivery(Service& service, const Principal& principal, const std::string& holder,
                    std::int64_t seconds) {
  require_operator(service, principal);
  const Timestamp now = service.environment().now();
  bool is_taken = false;
  service.database()->write([&](db::Connection& connection) {
    is_taken = store::take_lease(connection, holder, now,
                                 Timestamp{now.microseconds + seconds * microseconds});
  });
  return is_taken;
}

}  // namespace comptroller::service
