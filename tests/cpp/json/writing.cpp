#include <doctest/doctest.h>

#include "json/refusals.hpp"
#include "json/writer.hpp"
#include "rules/content.hpp"

namespace comptroller::json {
namespace {

template <Record R>
std::string text_of(const R& record, Audience audience = Audience::provider) {
  std::string text;
  append_record(text, record, audience);
  return text;
}

TEST_CASE("a record is equal after writing and reading its JSON, and so is the JSON") {
  const std::string claim =
      R"({"id":"c","payout_group_id":"00000000-0000-7000-8000-000000000001",)"
      R"("claim_type":"CLAIM_ALL","claim_schedule_id":"s","onchain_status":"FAILED",)"
      R"("amount":"01.50","tx_hash":"0xAB","addresses":["0x1","b"],"error_message":"",)"
      R"("blockchain":"ethereum","asset_type":"ETH","submitted_at":"2026-01-01T00:00:00.000000Z",)"
      R"("confirmed_at":"0001-01-01T00:00:00.000000Z","created_at":"9999-12-31T23:59:59.999999Z",)"
      R"("updated_at":"2026-01-01T00:00:00.000001Z","customer_id":"acme"})";
  CHECK(text_of(read<Claim>(claim)) == claim);
  const std::string orchestration =
      R"({"id":"o","profile_id":"p","identity_id":"i","account_id":"a","customer_id":"acme",)"
      R"("ref_id":"r","source_asset":"BTC","destination_asset":"ETH","source_amount":"-1.50",)"
      R"("source_transfer":{"transfer_id":"t","status":"PENDING"},"destination_transfer":{},)"
      R"("status":"PROCESSING","fail_reason":{"detail":"d"},)"
      R"("source":{"crypto":{"address_id":"x","address":"y","network":"z"}},)"
      R"("destination":{"fiat":{"bank_account_id":"b","memo":"m"},"profile":{"profile_id":"q"}},)"
      R"("orchestration_rule_id":"u","created_at":"2026-01-01T00:00:00.000000Z",)"
      R"("updated_at":"2026-01-01T00:00:00.000000Z","metadata":{"k":"v","":"x"}})";
  CHECK(refused<Orchestration>(orchestration).fields == std::vector<std::string>{"metadata"});
  std::string sound = orchestration;
  sound.replace(sound.find("\"\":\"x\""), 6, "\"l\":\"\"");
  CHECK(text_of(read<Orchestration>(sound)) == sound);
}

TEST_CASE("an unset deleted_at of a control is written as null, other unset members are omitted") {
  Control control;
  control.id = Id{"c"};
  control.identity_id = Id{"i"};
  CHECK(text_of(control, Audience::client) ==
        R"({"id":"c","type":"SELL_ONLY","set_by":"CLIENT","is_overridable":false,)"
        R"("created_at":"1970-01-01T00:00:00.000000Z","deleted_at":null,"identity_id":"i"})");
}

TEST_CASE("only the operator sees the customer of a record whose specified shape omits it") {
  RewardAddress address;
  customer_of(address) = "acme";
  CHECK(text_of(address, Audience::client).find("acme") == std::string::npos);
  CHECK(text_of(address, Audience::provider).find(R"("customer_id":"acme")") != std::string::npos);
  StoredIdentity identity;
  customer_of(identity) = "acme";
  CHECK(text_of(identity, Audience::client).find(R"("customer_id":"acme")") != std::string::npos);
}

TEST_CASE("special characters are escaped at every position of a string") {
  for (const char special : {'"', '\\', '\x01', '\x1f', '\n'}) {
    for (std::size_t length = 1; length < 20; ++length) {
      for (std::size_t at = 0; at < length; ++at) {
        std::string text(length, 'x');
        text[at] = special;
        std::string written;
        JsonWriter(written).write(text);
        std::string escape = std::string("\\") + special;
        if (special == '\x01') escape = "\\u0001";
        if (special == '\x1f') escape = "\\u001F";
        if (special == '\n') escape = "\\n";
        CHECK(written ==
              "\"" + std::string(at, 'x') + escape + std::string(length - at - 1, 'x') + "\"");
      }
    }
  }
}

TEST_CASE("a string without special characters is written unchanged") {
  for (const std::string_view text :
       {"", "a", "plain", "\x7f\xc3\xa9\xf0\x9f\x98\x80/", "!#[]~ "}) {
    std::string written;
    JsonWriter(written).write(text);
    CHECK(written == "\"" + std::string(text) + "\"");
  }
}

TEST_CASE("metadata, limits and lists are written as JSON") {
  UpdateIdentity update;
  update.id = Id{"i"};
  update.metadata = Metadata{{{"a\"b", "1"}, {"c", ""}}};
  CHECK(text_of(update) == R"({"id":"i","metadata":{"a\"b":"1","c":""}})");
  ListClaims list;
  list.limit = PageLimit{7};
  list.order = Order::asc;
  list.statuses = {ClaimStatus::pending, ClaimStatus::failed};
  CHECK(text_of(list) == R"({"statuses":["PENDING","FAILED"],"limit":7,"order":"ASC"})");
}

}  // namespace
}  // namespace comptroller::json
