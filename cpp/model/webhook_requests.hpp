// Requests of the operations of webhooks.
#pragma once

#include "model/records/webhooks.hpp"
#include "model/requests.hpp"

namespace comptroller {

struct ListWebhooks : ListedOwner {
  RECORD(ListWebhooks);
  FIELDS_OF(ListedOwner);
};

struct CreateWebhook {
  RECORD(CreateWebhook);
  FIELD(Url, url,
        "an https URL with a DNS name; the operator's may be http, and have an IP address");
  FIELD(EventTypes, event_types,
        "the types of its events, such as ``claim.created`` or ``claim.*``; default: all");
  FIELD(std::optional<Name>, description, "text for people, at most 256 characters");
  FIELD(std::optional<Id>, customer_id,
        "the customer whose events it gets; default: the client's own, those of all customers for "
        "the operator",
        OwnCustomer);
};

struct UpdateWebhook : ById {
  RECORD(UpdateWebhook);
  FIELDS_OF(ById);
  FIELD(std::optional<Url>, url, "as for create");
  FIELD(EventTypes, event_types, "replaces the types; ``*`` is all");
  FIELD(std::optional<Name>, description, "text for people, at most 256 characters");
  FIELD(std::optional<WebhookStatus>, status, "pauses it, or continues after its last event");
  FIELD(std::optional<Note>, status_reason, "why it is paused");
};

struct ReplayWebhook : ById {
  RECORD(ReplayWebhook);
  FIELDS_OF(ById);
  FIELD(std::optional<Timestamp>, since, "delivers the events from this time on again");
  FIELD(std::optional<PageCursor>, after,
        "delivers the events after this place in the change feed again: ``cursor`` of a change or "
        "``next_cursor`` of a page");
};

}  // namespace comptroller
