// Replays of webhooks since a time.
#include <doctest/doctest.h>

#include <vector>

#include "load/loader.hpp"
#include "load/pieces.hpp"
#include "service/service_fixture.hpp"
#include "service/webhook_delivery.hpp"
#include "store/journal.hpp"

namespace comptroller::service {
namespace {

constexpr std::int64_t minute_us = 60'000'000;

std::int64_t entries(ServiceFixture& fixture) {
  fixture.service.sequence_entries();
  return static_cast<std::int64_t>(store::journal_size(*fixture.service.database()->reader()));
}

TEST_CASE("a replay skips no event before a load that began long before it was stored") {
  ServiceFixture fixture;
  std::vector<std::int64_t> places;
  for (int minute = 0; minute < 32; ++minute) {
    fixture.now = Timestamp{start.microseconds + minute * minute_us};
    places.push_back(entries(fixture));
    fixture.put_identity("minute-" + std::to_string(minute), "acme");
    fixture.now = start;  // when the load begins
    const std::string line = R"({"id":"loaded-)" + std::to_string(minute) +
                             R"(","customer_id":"acme","created_at":"2026-01-01T00:00:00Z"})";
    load::TextInput lines(line);
    load::LoadOptions options;
    options.kind = "identities";
    CHECK(load::load(fixture.service, fixture.provider, lines, options).inserted == 1);
  }
  entries(fixture);
  const std::string webhook =
      fixture.call(fixture.provider, "webhooks.create", {}, R"({"url":"https://example.com"})")
          .at("/id");
  for (std::size_t minute = places.size(); minute-- > 1;) {
    const Timestamp since{start.microseconds + static_cast<std::int64_t>(minute) * minute_us};
    fixture.call(fixture.provider, "webhooks.replay", {{"id", webhook}},
                 R"({"since":")" + to_string(since) + "\"}");
    const ActiveWebhook replayed = active_webhooks(fixture.service, fixture.provider).front();
    CHECK(replayed.considered.sequence == places[minute] - 1);
  }
}

}  // namespace
}  // namespace comptroller::service
