// Webhooks, and what the deliverer knows of them (migration 0008).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/records/webhooks.hpp"
#include "store/change_feed.hpp"
#include "store/records.hpp"

namespace comptroller::store {

// From which of its keys the secrets of a webhook follow; see service/webhook_secrets.hpp.
struct SecretIds {
  std::string current;
  std::optional<std::string> previous = {};
  std::optional<Timestamp> previous_until = {};
};

void insert_webhook(Changes& changes, const Webhook& webhook, const std::string& secret_id);
void delete_webhook(Changes& changes, const Stored<Webhook>& webhook);
// Returns the webhooks of a customer; without one those of all.
std::vector<Stored<Webhook>> webhooks_of(db::Connection& connection,
                                         const std::optional<std::string>& customer);
// The number of webhooks of this owner; nullopt is the operator.
std::int64_t count_webhooks(db::Connection& connection, const std::optional<std::string>& customer);

SecretIds secret_ids(db::Connection& connection, std::int64_t key);
void set_secret_ids(db::Connection& connection, std::int64_t key, const SecretIds& ids);

// The place in the change feed up to which the events of a webhook were considered.
FeedPosition considered(db::Connection& connection, std::int64_t key);
// Sets it if it is still `expected`; returns whether it was.
bool move_considered(db::Connection& connection, std::int64_t key, const FeedPosition& expected,
                     const FeedPosition& next);
void set_considered(db::Connection& connection, std::int64_t key, const FeedPosition& next);
// Returns the sequence of the first entry of the journal that was recorded at this time or later.
// Throws invalid if entries since then may be in an archive. For a customer, the message names the
// time of its first entry that is not archived, or that of the newest archive.
std::int64_t first_entry_since(db::Connection& connection, Timestamp since,
                               const std::optional<OwnerId>& customer);

// Delivers the events that wait for another attempt at once, as if it was their first.
void restart_undelivered(db::Connection& connection, std::int64_t key, Timestamp now);

// An event that is not delivered yet.
struct Undelivered {
  FeedPosition position = {};
  ChangedResource resource = {};
  std::string record_id = {};
  std::string event_type = {};
  Timestamp occurred_at = {};
  std::int64_t attempts = 0;
  std::optional<Timestamp> first_attempt_at = {};
  std::optional<Timestamp> last_attempt_at = {};
  std::optional<Timestamp> next_attempt_at = {};
  std::optional<std::string> last_error = {};
};
// A test is an event with this sequence.
inline constexpr std::int64_t test_sequence = -1;

void keep_undelivered(db::Connection& connection, std::int64_t webhook, const Undelivered& event);
void forget_undelivered(db::Connection& connection, std::int64_t webhook,
                        const FeedPosition& position);
// Forgets all of them, and the tests.
void forget_all_undelivered(db::Connection& connection, std::int64_t webhook);
// Forgets the events after a place; tests remain.
void forget_undelivered_after(db::Connection& connection, std::int64_t webhook,
                              const FeedPosition& place);
// In order of position.
std::vector<Undelivered> undelivered(db::Connection& connection, std::int64_t webhook,
                                     std::int64_t limit);
// Those that are due and are the first of their record; the earliest attempts first.
std::vector<Undelivered> due_events(db::Connection& connection, std::int64_t webhook, Timestamp now,
                                    std::int64_t limit);
// When the next of them is due.
std::optional<Timestamp> next_due(db::Connection& connection, std::int64_t webhook);
std::int64_t count_undelivered(db::Connection& connection, std::int64_t webhook);
// Whether an earlier event of the record is not delivered yet.
bool has_undelivered(db::Connection& connection, std::int64_t webhook, ChangedResource resource,
                     std::string_view record_id);

// Takes or renews the lease until a time. Returns false if another process has it.
bool take_lease(db::Connection& connection, const std::string& holder, Timestamp now,
                Timestamp until);
bool has_lease(db::Connection& connection, const std::string& holder);

}  // namespace comptroller::store
