// What the process that delivers the events of webhooks reads and writes, as the operator.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "service/service.hpp"
#include "service/webhook_secrets.hpp"
#include "store/webhooks.hpp"

namespace comptroller::service {

// Whether the programs of the store's database share a key for webhooks, which is that of this one.
// A store in a file, or without a key, has nothing to share. Makes no key. Throws unusable if they
// share another one.
bool is_webhook_key_shared(Service& service, const Principal& principal);
// Makes the key that of all programs of the database, before events are delivered. Throws unusable
// if these share another one.
void share_webhook_key(Service& service, const Principal& principal);

// Signs requests with the present secret, and after a rotation also with the one before.
class WebhookSigners {
 public:
  WebhookSigners(std::string_view key, const store::SecretIds& ids);

  // Returns the header webhook-signature of a request that is sent at a time.
  std::string sign(std::string_view content, Timestamp now) const;

 private:
  WebhookSigner current_;
  std::optional<WebhookSigner> previous_;
  Timestamp previous_until_;
};

// Where the requests of a webhook go, and how they are signed, as of its last change.
struct Destination {
  Timestamp updated_at;
  std::string url;
  std::optional<std::string> customer_id = {};  // nullopt is the operator
  WebhookSigners signers;
};

// A webhook that is not paused.
struct ActiveWebhook {
  std::int64_t key = 0;
  std::string id;
  store::FeedPosition considered;
  Destination destination;
};
std::vector<ActiveWebhook> active_webhooks(Service& service, const Principal& principal);

// An event with the body of its request.
struct WebhookEvent {
  store::Undelivered event = {};
  std::string webhook_id = {};
  std::string body = {};
  bool is_blocked = false;  // by an earlier event of its record, which is not delivered yet
};

struct EventQuery {
  std::int64_t webhook = 0;  // the key
  store::FeedPosition after = {};
  std::int64_t max_retries = 0;
  std::int64_t max_events = 0;  // new ones
};
struct EventBatch {
  Destination destination;                           // as it was when the events were read
  std::vector<WebhookEvent> retries = {};            // at most one of each record
  std::vector<WebhookEvent> events = {};             // in order
  store::FeedPosition next = {};                     // after events, and changes without one
  bool is_at_end = true;                             // of the journal
  std::optional<Timestamp> next_due = std::nullopt;  // of a retry
};
// Visits a bounded number of changes. Throws not_found if the webhook was deleted or paused.
EventBatch take_events(Service& service, const Principal& principal, const EventQuery& query);

// The outcome of an attempt; an event that is not delivered is kept with its next attempt.
struct DeliveryOutcome {
  store::Undelivered event;
  bool is_delivered = false;
};
struct DeliveryReport {
  std::string holder;  // of the lease
  std::int64_t webhook = 0;
  store::FeedPosition after = {};
  store::FeedPosition next = {};
  std::vector<DeliveryOutcome> outcomes = {};
};
// Stores the outcomes and the position. Returns false, and stores nothing, if the holder has lost
// the lease, or if the webhook was deleted or replayed meanwhile.
bool report_deliveries(Service& service, const Principal& principal, const DeliveryReport& report);

// Takes or renews the lease for some seconds, 0 to release it; returns whether the holder has it.
bool lease_delivery(Service& service, const Principal& principal, const std::string& holder,
                    std::int64_t seconds);

}  // namespace comptroller::service
