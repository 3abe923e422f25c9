#include "rules/webhooks.hpp"

#include <doctest/doctest.h>

#include <array>
#include <utility>

#include "model/changes.hpp"
#include "model/error.hpp"

namespace comptroller::rules {
namespace {

bool is_accepted(std::string_view url, bool is_of_client) {
  try {
    check_webhook_url(url, is_of_client);
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == Code::invalid_request);
    return false;
  }
}

TEST_CASE("webhooks: the URL of a client is https with a DNS name, the operator's is any") {
  struct Row {
    std::string_view url;
    bool client;
    bool provider;
  };
  for (const auto& [url, client, provider] : std::to_array<Row>({
           {"https://hooks.example.com", true, true},
           {"https://hooks.example.com:8443/a?b=c%20d", true, true},
           {"https://Hooks.Example.Com./", true, true},
           {"http://hooks.example.com", false, true},
           {"https://127.0.0.1", false, true},
           {"https://127.1", false, true},
           {"https://2130706433", false, true},
           {"https://0x7f.0x1", false, true},
           {"https://[::1]:443/", false, true},
           {"https://localhost", false, true},
           {"https://.com", false, true},
           {"https://com.", false, true},
           {"https://[::1", false, false},
           {"https://a[b]", false, false},
           {"ftp://hooks.example.com", false, false},
           {"hooks.example.com", false, false},
           {"https://", false, false},
           {"https://:443", false, false},
           {"https://[]", false, false},
           {"https://user@hooks.example.com", false, false},
           {"https://user:password@hooks.example.com", false, false},
           {"https://hooks.example.com:0", false, false},
           {"https://hooks.example.com:65536", false, false},
           {"https://hooks.example.com:x", false, false},
           {"https://hooks.example.com:", false, false},
           {"https://hooks.example.com/#part", false, false},
           {"https://hooks.example.com/a b", false, false},
           {"https://hooks.example.com/\x7f", false, false},
           {"https://hooks.example.com\\@other.example.com", false, false},
           {"https://hooks%2eexample.com", false, false},
           {"https://a_b.example.com", false, false},
       })) {
    CAPTURE(url);
    CHECK(is_accepted(url, true) == client);
    CHECK(is_accepted(url, false) == provider);
  }
}

TEST_CASE("webhooks: patterns of event types") {
  const auto is_known = [](std::string pattern) {
    try {
      check_event_types({{std::move(pattern)}});
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  for (const char* pattern :
       {"*", "claim.*", "claim.failed", "identity.control.created", "identity.control.*",
        "orchestration.completed", "orchestration.any_status_2", "orchestration.*"}) {
    CAPTURE(pattern);
    CHECK(is_known(pattern));
  }
  for (const char* pattern : {"", "claim", "claim.", "claims.*", "claim.lost", "*.created",
                              "orchestration.", "orchestration.COMPLETED", "orchestration.a-b"}) {
    CAPTURE(pattern);
    CHECK_FALSE(is_known(pattern));
  }
  CHECK(matches_event_type({{"claim.created"}, {"identity.*"}}, "identity.control.deleted"));
  CHECK_FALSE(matches_event_type({{"claim.created"}}, "claim.failed"));
  CHECK_FALSE(matches_event_type({}, "claim.failed"));
}

TEST_CASE("webhooks: the type of a change's event") {
  struct Row {
    RecordChange change;
    std::string_view type;  // empty if there is none
  };
  for (const auto& [change, type] : std::to_array<Row>({
           {{"identities", true}, "identity.updated"},
           {{"identities", false}, "identity.updated"},
           {{"controls", true}, "identity.control.created"},
           {{"controls", false, true}, "identity.control.deleted"},
           {{"controls", false, false}, ""},
           {{"payout_groups", true}, "payout_group.created"},
           {{"payout_groups", false}, "payout_group.updated"},
           {{"reward_addresses", true}, "reward_address.created"},
           {{"reward_addresses", false}, "reward_address.updated"},
           {{"claims", true, false, "CONFIRMED"}, "claim.created"},
           {{"claims", false, false, "PENDING"}, "claim.created"},
           {{"claims", false, false, "SUBMITTED"}, "claim.submitted"},
           {{"claims", false, false, "FAILED"}, "claim.failed"},
           {{"orchestrations", true, false, "IN_PROGRESS"}, "orchestration.in_progress"},
           {{"orchestrations", false, false, "COMPLETED"}, "orchestration.completed"},
           {{"balances", true}, ""},
       })) {
    CAPTURE(change.table);
    CAPTURE(change.status);
    CHECK(event_type(change).value_or("") == type);
  }
}

TEST_CASE("the number of an entry is a whole number from 0") {
  CHECK(EntryNumber::parse("0")->value == 0);
  CHECK(EntryNumber::parse("9223372036854775807")->value == INT64_MAX);
  for (const char* text : {"", "-1", "1.5", "x", "1 ", "9223372036854775808"}) {
    CAPTURE(text);
    CHECK_FALSE(EntryNumber::parse(text));
  }
}

}  // namespace
}  // namespace comptroller::rules
