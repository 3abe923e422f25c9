// Members by name: known, required, repeated, of the wrong type. Each error names its path.
#include <doctest/doctest.h>

#include "json/refusals.hpp"

namespace comptroller::json {
namespace {

using Fields = std::vector<std::string>;

Fields refused_fields(const Refused& refused) {
  CHECK(refused.code == "invalid-request");
  return refused.fields;
}

const std::string claim = R"("id":"c","payout_group_id":"00000000-0000-7000-8000-000000000001",)"
                          R"("claim_type":"CLAIM_ALL","onchain_status":"PENDING","amount":"1",)"
                          R"("created_at":"2026-01-01T00:00:00Z")";
const std::string orchestration =
    R"("id":"o","status":"PROCESSING","created_at":"2026-01-01T00:00:00Z")";

TEST_CASE("a repeated member is refused at any depth, with equal or other values") {
  CHECK(refused_fields(refused<DeleteControl>(R"({"id":"a","id":"a"})")) == Fields{"id"});
  CHECK(refused_fields(refused<DeleteControl>(R"({"id":"a","\u0069d":"b"})")) == Fields{"id"});
  CHECK(refused_fields(refused<Orchestration>(
            "{" + orchestration + R"(,"source":{"crypto":{"address":"x","address":"y"}}})")) ==
        Fields{"source.crypto.address"});
  CHECK(refused_fields(refused<Orchestration>(
            "{" + orchestration + R"(,"source":{"fiat":{},"fiat":{}}})")) == Fields{"source.fiat"});
  CHECK(refused_fields(refused<Orchestration>(
            "{" + orchestration + R"(,"metadata":{"k":"1","k":"1"}})")) == Fields{"metadata"});
}

TEST_CASE("a duplicate inside an ignored member is refused") {
  for (const std::string_view document :
       {R"({"x":{"a":1,"a":1}})", R"({"x":[{"a":1,"a":2}]})", R"({"x":[[{"b":{"a":1,"a":2}}]]})",
        R"({"x":1,"x":1})", R"({"x":1,"y":2,"x":3})",
        R"({"x":{"y":{"z":[{},{"a":[],"a":[]}]}}})"}) {
    CAPTURE(document);
    CHECK(judged_code(document) == "invalid-request");
  }
  CHECK(judged_code(R"({"x":{"a":{"a":{"a":1}}},"y":[{"a":1},{"a":1}]})").empty());
  UnknownMembers unknown;
  ReadOptions options;
  options.unknown = &unknown;
  const std::string identity = R"({"id":"i","created_at":"2026-01-01T00:00:00Z",)";
  CHECK(refused<IdentityLine>(identity + R"("status_details":{"a":1,"a":1}})", options).code ==
        "invalid-request");
  CHECK(refused<IdentityLine>(identity + R"("status_details":{"a":1},"status":null})", options)
            .code.empty());
}

TEST_CASE("an unknown member is refused by its path") {
  CHECK(refused_fields(refused<DeleteControl>(R"({"idd":"a"})")) == Fields{"idd"});
  CHECK(refused_fields(refused<Orchestration>("{" + orchestration +
                                              R"(,"destination":{"crypto":{"adress":"x"}}})")) ==
        Fields{"destination.crypto.adress"});
  CHECK(refused_fields(refused<Orchestration>("{" + orchestration +
                                              R"(,"source":{"fiat":{"bank_account_id":"x"}}})")) ==
        Fields{"source.fiat.bank_account_id"});
  CHECK(refused_fields(refused<DeleteControl>(R"({"":"a"})")) == Fields{""});
  CHECK(refused_fields(refused<DeleteControl>(R"({"\u0000":"a"})")).size() == 1);
}

TEST_CASE("ignored unknown members are counted") {
  UnknownMembers unknown;
  ReadOptions options;
  options.unknown = &unknown;
  const std::string document =
      "{" + orchestration + R"(,"x":1,"source":{"y":[1],"crypto":{"z":null}}})";
  for (int i = 0; i < 3; ++i) read<Orchestration>(document, options);
  CHECK(unknown == UnknownMembers{{"source.crypto.z", 3}, {"source.y", 3}, {"x", 3}});

  std::string many = "{";
  for (int i = 0; i < 1500; ++i) many += "\"n" + std::to_string(i) + "\":1,";
  unknown.clear();
  read<DeleteControl>(many + "\"id\":\"a\"}", options);
  CHECK(unknown.size() == 1001);  // a bounded number of names; the others share one
  CHECK(unknown["..."] == 500);
}

TEST_CASE("a document with only unknown members is read as fast as another") {
  std::string distinct = "{\"n\":1";
  std::string equal = distinct;
  for (int i = 0; i < 60'000; ++i) {
    distinct += ",\"n" + std::to_string(i) + "\":1";
    equal += ",\"n\":1";
  }
  CHECK(judged_code(distinct + "}").empty());
  CHECK(judged_code(equal + "}") == "invalid-request");
  CHECK(refused<DeleteControl>(distinct + "}").code == "invalid-request");
}

TEST_CASE("null is accepted only for members that can be null") {
  for (const std::string_view name : {"id", "control_id", "identity_id", "reason"}) {
    CHECK(refused_fields(refused<DeleteControl>("{\"" + std::string(name) + "\":null}")) ==
          Fields{std::string(name)});
  }
  for (const std::string_view name :
       {"source_asset", "source_amount", "source", "metadata", "updated_at", "customer_id"}) {
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + ",\"" + std::string(name) +
                                                "\":null}")) == Fields{std::string(name)});
  }
  const std::string control = R"({"id":"c","type":"CLOSED","set_by":"CLIENT","identity_id":"i",)"
                              R"("is_overridable":true,"created_at":"2026-01-01T00:00:00Z",)";
  CHECK_FALSE(read<Control>(control + R"("deleted_at":null})").deleted_at.has_value());
  CHECK(read<Control>(control + R"("deleted_at":"2026-01-02T00:00:00Z"})").deleted_at);
  CHECK(refused_fields(refused<Control>(control + R"("deleted_at":false})")) ==
        Fields{"deleted_at"});
}

TEST_CASE("a lenient reader takes null as not set, at every depth") {
  ReadOptions options;
  options.is_load = true;
  const auto read_it =
      read<Orchestration>("{" + orchestration +
                              R"(,"source_amount":null,"source":{"crypto":null},"updated_at":null,)"
                              R"("metadata":{"a":null,"b":"x"}})",
                          options);
  CHECK_FALSE(read_it.source_amount.has_value());
  CHECK(read_it.source.has_value());
  CHECK(read_it.metadata->pairs.size() == 1);
  CHECK(refused_fields(refused<Orchestration>(R"({"id":null})", options)).front() == "id");
  CHECK(refused_fields(refused<Orchestration>(
            "{" + orchestration + R"(,"metadata":null,"metadata":{}})", options)) ==
        Fields{"metadata"});
}

TEST_CASE("a line to load may have numbers as amounts, and times as databases write them") {
  ReadOptions options;
  options.is_load = true;
  const auto line = [&](const std::string& more) { return "{" + orchestration + "," + more + "}"; };
  const auto read_it = read<Orchestration>(
      line(R"("source_amount":12.50,"updated_at":"2026-01-31 12:00:00+00")"), options);
  CHECK(read_it.source_amount->text == "12.50");
  CHECK(to_string(read_it.updated_at) == "2026-01-31T12:00:00.000000Z");
  for (const std::string_view number :
       {"1e3", "0.30000000000000004", "1e400", "0.1234567890123456789"}) {
    CAPTURE(number);
    const std::string text = line("\"source_amount\":" + std::string(number));
    CHECK(refused_fields(refused<Orchestration>(text, options)) == Fields{"source_amount"});
  }
  CHECK(refused_fields(refused<Orchestration>(line(R"("source_amount":12.50)"))) ==
        Fields{"source_amount"});
}

TEST_CASE("a value of the wrong type is refused by its path") {
  for (const std::string_view value : {"1", "1.5", "true", "[]", "{}", "[\"a\"]"}) {
    CAPTURE(value);
    const std::string text(value);
    CHECK(refused_fields(refused<DeleteControl>("{\"id\":" + text + "}")) == Fields{"id"});
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + ",\"source_amount\":" + text +
                                                "}")) == Fields{"source_amount"});
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + R"(,"metadata":{"k":)" +
                                                text + "}}")) == Fields{"metadata.k"});
  }
  for (const std::string_view value : {"1", "\"x\"", "true", "[]"}) {
    CAPTURE(value);
    const std::string text(value);
    for (const std::string_view name : {"source", "destination", "source_transfer", "metadata"}) {
      CHECK(refused_fields(refused<Orchestration>("{" + orchestration + ",\"" + std::string(name) +
                                                  "\":" + text + "}")) ==
            Fields{std::string(name)});
    }
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + R"(,"source":{"crypto":)" +
                                                text + "}}")) == Fields{"source.crypto"});
  }
  for (const std::string_view value : {"0", "1", "\"true\"", "null", "[]"}) {
    CHECK(refused_fields(refused<UpdateIdentity>(R"({"id":"i","user_disabled":)" +
                                                 std::string(value) + "}")) ==
          Fields{"user_disabled"});
  }
  for (const std::string_view value : {"\"0x\"", "{}", "1"}) {
    CHECK(refused_fields(refused<Claim>("{" + claim + ",\"addresses\":" + std::string(value) +
                                        "}")) == Fields{"addresses"});
  }
  CHECK(refused_fields(refused<Claim>("{" + claim + R"(,"addresses":["a",1,""]})")) ==
        Fields{"addresses", "addresses"});
  CHECK(read<Claim>("{" + claim + R"(,"addresses":[]})").addresses->empty());
}

TEST_CASE("a string with a control character, escaped or not, is refused") {
  for (const std::string_view escape : {"\\u0000", "\\u0001", "\\n", "\\t", "\\u001f"}) {
    CAPTURE(escape);
    const std::string text(escape);
    CHECK(refused_fields(refused<DeleteControl>("{\"reason\":\"a" + text + "\"}")) ==
          Fields{"reason"});
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + R"(,"metadata":{"k":")" +
                                                text + "\"}}")) == Fields{"metadata"});
    CHECK(refused_fields(refused<Orchestration>("{" + orchestration + R"(,"metadata":{")" + text +
                                                "\":\"v\"}}")) == Fields{"metadata"});
  }
}

TEST_CASE("all missing required members are reported at once") {
  CHECK(refused_fields(refused<CreateControl>("{}")) ==
        Fields{"identity_id", "type", "reason_code"});
  CHECK(refused_fields(refused<CreatePayoutGroup>("{}")) ==
        Fields{"ledger", "asset_type", "jurisdiction", "name", "claimer_address"});
  CHECK(refused_fields(refused<CreateRewardAddress>("{}")) == Fields{"ledger", "address"});
  CHECK(refused_fields(refused<Claim>("{}")) ==
        Fields{"id", "payout_group_id", "claim_type", "onchain_status", "amount", "created_at"});
  CHECK(refused_fields(refused<Control>("{}")) ==
        Fields{"id", "type", "set_by", "is_overridable", "created_at", "identity_id"});
  CHECK(refused_fields(refused<Orchestration>("{}")) == Fields{"id", "status", "created_at"});
  CHECK(refused_fields(refused<PayoutGroup>("{}")) == Fields{"id", "ledger", "created_at"});
  CHECK(refused_fields(refused<RewardAddress>("{}")) ==
        Fields{"id", "ledger", "address", "created_at"});
  CHECK(refused_fields(refused<IdentityLine>("{}")) == Fields{"id", "created_at"});
  CHECK(refused_fields(refused<Balance>("{}")) == Fields{"address_id", "balance", "at"});
  CHECK(refused_fields(refused<CreateControl>(R"({"type":"PAUSED","x":1})")) ==
        Fields{"type", "x", "identity_id", "reason_code"});
}

TEST_CASE("updated_at of a line defaults to created_at") {
  CHECK(read<Claim>("{" + claim + "}").updated_at ==
        UpdatedAt{read<Claim>("{" + claim + "}").created_at});
  CHECK(
      to_string(read<Claim>("{" + claim + R"(,"updated_at":"2026-02-01T00:00:00Z"})").updated_at) ==
      "2026-02-01T00:00:00.000000Z");
}

TEST_CASE("a member that the caller already has is refused in the document, or may be repeated") {
  constexpr std::array<std::string_view, 1> path{"id"};
  ReadOptions options;
  options.given_fields = path;
  CHECK(refused<UpdateRewardAddress>("{}", options).code.empty());
  CHECK(refused_fields(refused<UpdateRewardAddress>(R"({"id":"a"})", options)) == Fields{"id"});
  options.may_repeat = true;
  CHECK(read<UpdateRewardAddress>(R"({"id":"a"})", options).id == Id{"a"});
}

TEST_CASE("a document may be in an envelope, which is part of the paths") {
  ReadOptions options;
  options.envelope = "address";
  CHECK(
      read<CreateRewardAddress>(R"({"address":{"ledger":"INK","address":"x"}})", options).address ==
      Label{"x"});
  CHECK(read<CreateRewardAddress>(R"({"ledger":"INK","address":"x"})", options).address ==
        Label{"x"});
  CHECK(refused_fields(refused<CreateRewardAddress>(
            R"({"address":{"ledger":"INK","address":"x","nam":"y"}})", options)) ==
        Fields{"address.nam"});
  CHECK(refused_fields(refused<CreateRewardAddress>(R"({"address":"x"})", options)) ==
        Fields{"ledger"});
  CHECK(refused<CreateRewardAddress>(R"({"address":{"ledger":"INK","address":"x"},"name":"y"})",
                                     options)
            .code == "invalid-request");
  CHECK(refused<CreateRewardAddress>(R"({"address":{"ledger":"INK","address":"x"},"address":{}})",
                                     options)
            .code == "invalid-request");
}

TEST_CASE("the limits of metadata are enforced") {
  const auto with = [](const std::string& pairs) {
    return refused<UpdateIdentity>(R"({"id":"i","metadata":{)" + pairs + "}}");
  };
  std::string fifty;
  for (int i = 0; i < 50; ++i) fifty += (i > 0 ? ",\"k" : "\"k") + std::to_string(i) + "\":\"v\"";
  CHECK(with(fifty).code.empty());
  CHECK(refused_fields(with(fifty + ",\"k50\":\"v\"")) == Fields{"metadata"});
  CHECK(with("\"" + std::string(64, 'k') + "\":\"" + std::string(512, 'v') + "\"").code.empty());
  CHECK(refused_fields(with("\"" + std::string(65, 'k') + "\":\"v\"")) == Fields{"metadata"});
  CHECK(refused_fields(with("\"k\":\"" + std::string(513, 'v') + "\"")) == Fields{"metadata"});
  CHECK(refused_fields(with("\"\":\"v\"")) == Fields{"metadata"});
}

}  // namespace
}  // namespace comptroller::json
