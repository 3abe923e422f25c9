// Webhooks (specification 6).
#include "store/webhooks.hpp"

#include <limits>
#include <tuple>

#include "json/canonical.hpp"
#include "model/webhook_requests.hpp"
#include "rules/changes.hpp"
#include "rules/webhooks.hpp"
#include "service/feed_cursors.hpp"
#include "service/operation_rows.hpp"
#include "service/operations.hpp"
#include "service/webhook_secrets.hpp"

namespace comptroller::service {

namespace {

constexpr std::int64_t max_webhooks = 100;  // of one customer, or of the operator
constexpr std::int64_t max_shown_deliveries = 1001;
constexpr std::int64_t rotation_us = std::int64_t{24} * 3600 * 1'000'000;

std::string make_secret_id(const Context& context) {
  return context.environment.make_id() + context.environment.make_id();
}

std::int64_t key_of(Context& context, const Id& id) {
  return require<Webhook>(context, id.value).key;
}

// Forgets the events that are not delivered yet and that the webhook does not select, so that they
// do not reach a receiver whose owner may not read them.
void forget_unselected_events(db::Connection& connection, const store::Stored<Webhook>& webhook) {
  constexpr auto all = std::numeric_limits<std::int64_t>::max();
  for (const store::Undelivered& event : store::undelivered(connection, webhook.key, all)) {
    if (event.position.sequence == store::test_sequence ||
        rules::matches_event_type(webhook.record.event_types, event.event_type)) {
      continue;
    }
    store::forget_undelivered(connection, webhook.key, event.position);
  }
}

// Throws insufficient_scope unless the caller may read the records of these events.
void require_readable(const Principal& principal, const EventTypes& patterns) {
  for (const std::string_view table : rules::tables_of_events(patterns)) {
    require_scope(principal, scope_to_read(table), false);
  }
}

// About the size of a webhook as JSON.
std::size_t size_of(const Webhook& webhook) {
  constexpr std::size_t other_members = 400;
  std::size_t size = other_members + webhook.url.value.size();
  if (webhook.description) size += webhook.description->value.size();
  if (webhook.status_reason) size += webhook.status_reason->value.size();
  for (const Label& pattern : webhook.event_types) size += pattern.value.size();
  return size;
}

Webhooks list_webhooks(Context& context, const ListWebhooks& request) {
  Webhooks webhooks;
  std::size_t bytes = 0;
  for (auto& stored : store::webhooks_of(context.connection,
                                         listed_customer(context.principal, request.customer_id))) {
    bytes += size_of(stored.record);
    std::ignore = context.page_bytes.is_full(bytes);  // throws if the answer was to be short
    webhooks.items.push_back(std::move(stored.record));
  }
  return webhooks;
}

Webhook create_webhook(Context& context, const CreateWebhook& request) {
  const std::optional<std::string> customer =
      listed_customer(context.principal, request.customer_id);
  rules::check_webhook_url(request.url.value, customer.has_value());
  rules::check_event_types(request.event_types);
  Webhook webhook;
  webhook.event_types = request.event_types;
  if (webhook.event_types.empty()) webhook.event_types.push_back(Label{"*"});
  require_readable(context.principal, webhook.event_types);
  if (customer) store::ensure_customer(context.connection, *customer);
  context.changes().lock_journal();  // so that others that are created meanwhile are counted
  if (store::count_webhooks(context.connection, customer) >= max_webhooks) {
    throw Error(Code::already_exists,
                "there are too many webhooks; a customer can have 100, and the operator 100");
  }
  webhook.id.value = context.environment.make_id();
  webhook.url = request.url;
  webhook.description = request.description;
  webhook.secret_changed_at = context.now;
  webhook.created_at = context.now;
  webhook.updated_at = UpdatedAt{context.now};
  if (customer) customer_of(webhook) = *customer;
  store::insert_webhook(context.changes(), webhook, make_secret_id(context));
  return webhook;
}

Webhook update_webhook(Context& context, const UpdateWebhook& request) {
  const auto stored = require<Webhook>(context, request.id.value);
  Webhook webhook = stored.record;
  if (request.url) {
    rules::check_webhook_url(request.url->value, webhook.customer_id.has_value());
    webhook.url = *request.url;
  }
  rules::check_event_types(request.event_types);
  if (!request.event_types.empty()) webhook.event_types = request.event_types;
  if (request.url || !request.event_types.empty()) {
    require_readable(context.principal, webhook.event_types);
  }
  if (request.description) webhook.description = request.description;
  if (request.status) {
    webhook.status = *request.status;
    webhook.status_reason.reset();
  }
  if (webhook.status == WebhookStatus::paused && request.status_reason) {
    webhook.status_reason = request.status_reason;
  }
  if (json::difference(stored.record, webhook).is_empty()) return webhook;
  webhook.updated_at = rules::changed_at(context.now, webhook.updated_at);
  store::update(context.changes(), stored, webhook);
  const bool is_resumed =
      webhook.status == WebhookStatus::active && stored.record.status != WebhookStatus::active;
  if (is_resumed) store::restart_undelivered(context.connection, stored.key, context.now);
  if (!request.event_types.empty()) {
    forget_unselected_events(context.connection, {stored.key, webhook});
  }
  return webhook;
}

Webhook delete_webhook(Context& context, const ById& request) {
  const auto stored = require<Webhook>(context, request.id.value);
  store::delete_webhook(context.changes(), stored);
  return stored.record;
}

WebhookSecret get_secret(Context& context, const ById& request) {
  const std::int64_t key = key_of(context, request.id);
  const store::SecretIds ids = store::secret_ids(context.connection, key);
  const WebhookSigner signer(require_webhook_key(context.environment, context.connection),
                             ids.current);
  WebhookSecret secret;
  secret.secret.value = signer.secret();
  secret.public_key.value = signer.public_key();
  if (ids.previous_until > context.now) secret.previous_until = ids.previous_until;
  return secret;
}

Webhook rotate_secret(Context& context, const ById& request) {
  const auto stored = require<Webhook>(context, request.id.value);
  const store::SecretIds before = store::secret_ids(context.connection, stored.key);
  store::set_secret_ids(
      context.connection, stored.key,
      {make_secret_id(context), before.current, Timestamp{context.now.microseconds + rotation_us}});
  Webhook webhook = stored.record;
  webhook.updated_at = rules::changed_at(context.now, webhook.updated_at);
  webhook.secret_changed_at = webhook.updated_at;
  store::update(context.changes(), stored, webhook);
  return webhook;
}

WebhookDelivery show(const std::string& key, store::Undelivered event) {
  WebhookDelivery shown;
  shown.webhook_id.value = event_id(key, event.position, event.occurred_at);
  shown.event_type.value = std::move(event.event_type);
  shown.occurred_at = event.occurred_at;
  shown.attempts.value = event.attempts;
  shown.first_attempt_at = event.first_attempt_at;
  shown.last_attempt_at = event.last_attempt_at;
  if (event.next_attempt_at && event.next_attempt_at->microseconds > 0) {
    shown.next_attempt_at = event.next_attempt_at;
  }
  if (event.last_error) shown.last_error = Note{*std::move(event.last_error)};
  return shown;
}

WebhookDelivery test_webhook(Context& context, const ById& request) {
  const std::int64_t key = key_of(context, request.id);
  // Only the last test is kept.
  for (const store::Undelivered& event : store::undelivered(context.connection, key, 1)) {
    if (event.position.sequence == store::test_sequence) {
      store::forget_undelivered(context.connection, key, event.position);
    }
  }
  const store::Undelivered event{
      .position = {.sequence = store::test_sequence, .key = context.now.microseconds},
      .record_id = std::to_string(context.now.microseconds),
      .event_type = "webhook.test",
      .occurred_at = context.now,
      .next_attempt_at = context.now,
  };
  store::keep_undelivered(context.connection, key, event);
  return show(require_webhook_key(context.environment, context.connection), event);
}

WebhookDeliveries list_deliveries(Context& context, const ById& request) {
  const std::int64_t key = key_of(context, request.id);
  const std::string webhook_key = require_webhook_key(context.environment, context.connection);
  WebhookDeliveries deliveries;
  for (auto& event : store::undelivered(context.connection, key, max_shown_deliveries)) {
    deliveries.items.push_back(show(webhook_key, std::move(event)));
  }
  return deliveries;
}

Webhook replay(Context& context, const ReplayWebhook& request) {
  db::Connection& connection = context.connection;
  const auto stored = require<Webhook>(context, request.id.value);
  require_readable(context.principal, stored.record.event_types);
  if (request.since.has_value() == request.after.has_value()) {
    throw Error::invalid("since", "this or `after` is required, and not both");
  }
  if (request.after && request.after->value.empty()) {
    throw Error::invalid("after", "is empty; give a cursor of the change feed, or `since`");
  }
  store::FeedPosition place;
  if (request.after) {
    place = feed_position(context, *request.after);
    store::require_stored(connection, place);
  } else {
    place = {.sequence =
                 store::first_entry_since(connection, *request.since, stored.record.customer_id) -
                 1};
  }
  // No event is skipped: those that were not considered yet follow anyway.
  if (place < store::considered(connection, stored.key)) {
    store::forget_undelivered_after(connection, stored.key, place);
    store::set_considered(connection, stored.key, place);
  }
  return stored.record;
}

}  // namespace

std::vector<Operation> webhook_operations() {
  using enum RequestSource;
  const Endpoints webhooks{"webhooks", "/webhooks", versioned(), webhooks_read, webhooks_write};
  return {
      read_row(webhooks, &list_webhooks, {"list", "Lists webhooks, oldest first."}),
      read_row(webhooks, &get<Webhook>, {"get", "Returns one webhook."}),
      write_row<body>(
          webhooks, &create_webhook,
          {.name = "create",
           .summary = "Creates a webhook, which gets the events from now on.",
           .route = "POST",
           .errors = {{Code::already_exists, "the customer, or the operator, has 100 webhooks"}}}),
      write_row<id_and_body>(webhooks, &update_webhook,
                             {"update", "Changes the members that are given.", "PUT /{id}"}),
      write_row<id_and_body>(
          webhooks, &delete_webhook,
          {"delete", "Deletes a webhook and its undelivered events.", "DELETE /{id}"}),
      // A read, because the answer of a write with an idempotency key is stored.
      read_row(webhooks, &get_secret,
               {.name = "secret",
                .summary = "Returns the secret and the public key of a webhook.",
                .route = "GET /{id}/secret",
                .details = "Needs the scope ``webhooks:write``, or ``operator:write``.",
                .shows_secret = true}),
      write_row<id_and_body>(webhooks, &rotate_secret,
                             {"rotate", "Gives a webhook a new secret.", "POST /{id}/rotate",
                              "For 24 hours requests also have signatures of the secret before."}),
      write_row<id_and_body>(webhooks, &test_webhook,
                             {"test", "Sends an event of the type `webhook.test`, once.",
                              "POST /{id}/test", "The outcome is in `deliveries`."}),
      read_row(webhooks, &list_deliveries,
               {"deliveries", "Lists the events that were not delivered yet, and the last test.",
                "GET /{id}/deliveries"}),
      write_row<id_and_body>(
          webhooks, &replay,
          {.name = "replay",
           .summary =
               "Delivers all events since a time, or after a place in the change feed, again.",
           .route = "POST /{id}/replay",
           .details = "In their order. Earlier events that were not delivered yet remain.",
           .errors =
               {{Code::invalid_cursor,
                 "the cursor is not one of the caller's feed, or changes after it are only in "
                 "an archive"}}}),
  };
}

}  // namespace comptroller::service
