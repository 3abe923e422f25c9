// Webhooks: endpoints of receivers, their secrets and their deliveries.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/addresses.hpp"
#include "model/enums.hpp"
#include "model/scalar.hpp"

namespace comptroller {

#define COMPTROLLER_WEBHOOK_STATUS(ROW)     \
  ROW(active, "events are delivered to it") \
  ROW(paused, "no events are delivered to it until its status is set to ACTIVE")
COMPTROLLER_CLOSED_SET(WebhookStatus, COMPTROLLER_WEBHOOK_STATUS);

// A number of things.
struct Count {
  static constexpr std::string_view kind = "number";
  std::int64_t value = 0;
  std::int64_t view() const { return value; }
};

using Url = Text<1, 2048>;

// Patterns of types: `claim.created`, `claim.*`, or `*` for all.
using EventTypes = std::vector<Label>;

// Specification 6.
struct Webhook {
  static constexpr std::string_view table = "webhooks", singular = "webhook";
  RECORD(Webhook, "An endpoint that gets a signed request for each change of a record.");
  FIELD(Uuid, id, "identifies the webhook, a UUID");
  FIELD(Url, url, "the URL that gets the requests");
  FIELD(EventTypes, event_types,
        "the types of its events: ``claim.created``, ``claim.*`` for a group, ``*`` for all");
  FIELD(std::optional<Name>, description, "text for people, at most 256 characters");
  FIELD(WebhookStatus, status, "whether events are delivered");
  FIELD(std::optional<Note>, status_reason, "why it is paused");
  FIELD(Timestamp, secret_changed_at, "when its secret was created or rotated");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer whose events it gets; unset for those of all customers; shown to the "
        "operator only");
};

struct Webhooks {
  RECORD(Webhooks, "The webhooks of a caller.");
  FIELD(std::vector<Webhook>, items, "the webhooks, oldest first");
};

struct WebhookSecret {
  RECORD(WebhookSecret, "What a receiver verifies the signatures of its requests with.");
  FIELD(Label, secret, "secret of signatures ``v1`` (HMAC-SHA256): ``whsec_`` and base64");
  FIELD(Label, public_key, "public key of signatures ``v1a`` (Ed25519): ``whpk_`` and base64");
  FIELD(std::optional<Timestamp>, previous_until,
        "until when requests also have signatures of the secret before the last rotation");
};

struct WebhookDelivery {
  RECORD(WebhookDelivery, "An event that was not delivered yet, or a test.");
  FIELD(Label, webhook_id, "identifies the event, as the header ``webhook-id``");
  FIELD(Label, event_type, "the type of the event, such as ``claim.created``");
  FIELD(Timestamp, occurred_at, "time of the event");
  FIELD(Count, attempts, "how many attempts were made");
  FIELD(std::optional<Timestamp>, first_attempt_at, "time of the first attempt");
  FIELD(std::optional<Timestamp>, last_attempt_at, "time of the last attempt");
  FIELD(std::optional<Timestamp>, next_attempt_at, "earliest time of the next attempt");
  FIELD(std::optional<Note>, last_error, "why the last attempt failed");
};

struct WebhookDeliveries {
  RECORD(WebhookDeliveries, "What a webhook has not delivered, and its last test.");
  FIELD(std::vector<WebhookDelivery>, items,
        "at most 1000 events in order, and the last test: it was delivered if it has an attempt "
        "and no ``last_error``");
};

}  // namespace comptroller
