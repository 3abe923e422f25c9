// The events of webhooks: their types, and the work that they take.
#include "db/folder.hpp"
#include "service/webhook_delivery.hpp"
#include "store/counted_work.hpp"

namespace comptroller::store {
namespace {

constexpr int events_at_once = 10;

// A store with a webhook, and a claim that was changed many times before it was submitted.
struct ChangedClaim : ServiceFixture {
  ChangedClaim(const std::string& path, int changes) : ServiceFixture(db::sqlite::open(path, {})) {
    call(provider, "webhooks.create", {}, R"({"url":"https://hooks.example.com"})");
    Claim claim = Store::claim(0, "acme", start);
    claim.onchain_status = ClaimStatus::pending;
    claim.tx_hash.reset();
    for (int change = 0; change < changes; ++change) put(claim);
    claim.onchain_status = ClaimStatus::submitted;
    claim.tx_hash.emplace().value = Store::hash_text(1);
    put(claim);
    put(claim);
  }

  // Changes a member that decides no type.
  void put(Claim& claim) {
    claim.updated_at.microseconds += 1;
    claim.amount.text = std::to_string(++puts);
    call(provider, "claims.put", {}, json::to_text(claim));
  }
  service::EventBatch take(const FeedPosition& after) {
    const service::ActiveWebhook webhook = service::active_webhooks(service, provider).front();
    return service::take_events(service, provider,
                                {.webhook = webhook.key,
                                 .after = after,
                                 .max_retries = events_at_once,
                                 .max_events = events_at_once});
  }
  FeedPosition considered() {
    return service::active_webhooks(service, provider).front().considered;
  }

  int puts = 0;
};

TEST_CASE("an event has the status of its change, which a later one names") {
  const db::Folder folder;
  ChangedClaim store(folder / "store", 25);
  std::vector<std::string> types;
  for (FeedPosition after = store.considered();;) {
    const service::EventBatch batch = store.take(after);
    for (const service::WebhookEvent& each : batch.events) types.push_back(each.event.event_type);
    after = batch.next;
    if (batch.is_at_end) break;
  }
  std::vector<std::string> expected(25, "claim.created");
  expected.insert(expected.end(), 2, "claim.submitted");
  CHECK(types == expected);
}

TEST_CASE("an event takes the same work for any number of later changes of its record") {
  const db::Folder folder;
  StatementRecorder recorder;
  std::vector<std::int64_t> steps;
  for (const int changes : {20, 400}) {
    ChangedClaim store(folder / std::to_string(changes), changes);
    const FeedPosition first = store.considered();
    const auto statements = recorder.record([&] {
      const service::EventBatch batch = store.take(first);
      REQUIRE(batch.events.size() == events_at_once);
      CHECK(batch.events.back().event.event_type == "claim.created");
    });
    check_plans(recorder, statements);
    steps.push_back(steps_of(statements));
  }
  check_growth({steps.front()}, {steps.back()});
}

}  // namespace
}  // namespace comptroller::store
