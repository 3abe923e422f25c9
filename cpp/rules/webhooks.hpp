// Rules of webhooks: accepted URLs, and the types of events.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "model/records/webhooks.hpp"

namespace comptroller::rules {

// Throws invalid_request. The URL of a client must be https and have a DNS name. Where the name
// leads is checked when a request is sent.
void check_webhook_url(std::string_view url, bool is_of_client);

// Throws invalid_request for a pattern that matches no type of event.
void check_event_types(const EventTypes& patterns);
bool matches_event_type(const EventTypes& patterns, std::string_view type);
// Returns the tables of the records that events with matching types have.
std::set<std::string_view> tables_of_events(const EventTypes& patterns);

// The parts of a change that determine the type of its event.
struct RecordChange {
  std::string_view table;
  bool is_new = false;
  bool sets_deletion = false;  // sets deleted_at
  std::string status = {};     // of the record after the change, in upper case, if it has one
};
// Returns the type of a change's event; nullopt if it has none.
std::optional<std::string> event_type(const RecordChange& change);

}  // namespace comptroller::rules
