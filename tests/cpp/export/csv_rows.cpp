#include "export/csv_rows.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "db/sqlite/database.hpp"
#include "model/records.hpp"

namespace comptroller::exporting {
namespace {

template <Record R>
std::string header(Audience audience) {
  std::string out;
  append_csv_header<R>(out, audience);
  return out;
}

// Returns the CSV of the rows of a statement whose columns are those of R.
template <Record R>
std::string rows(db::Connection& connection, const std::string& sql,
                 Audience audience = Audience::provider) {
  std::string out;
  db::Query query = connection.query(sql);
  while (query.step()) append_csv_row<R>(out, query, connection.symbols(), audience);
  return out;
}

// Binds a record to columns and reads it back as CSV.
template <Record R>
std::string row_of(const R& record, Audience audience = Audience::provider) {
  const auto database = db::sqlite::open(":memory:", {.is_temporary = true});
  std::string out;
  database->write([&](db::Connection& connection) {
    std::string sql;
    int index = 0;
    for_each_field<R>([&]<class F>() {
      sql += sql.empty() ? "SELECT " : ", ";
      sql += is_derived<bare<typename F::Type>> ? "NULL" : "?" + std::to_string(++index);
    });
    store::BoundValues parameters(connection.symbols());
    db::Query query = connection.query(sql);
    store::bind_record(query, record, parameters);
    while (query.step()) append_csv_row<R>(out, query, connection.symbols(), audience);
  });
  return out;
}

TEST_CASE("the header has the fields that the audience may see") {
  CHECK(header<Balance>(Audience::client) == "address_id,balance,at\r\n");
  CHECK(header<RewardAddress>(Audience::client) ==
        "id,ledger,address,name,payout_group_id,balance,status,created_at\r\n");
  CHECK(header<RewardAddress>(Audience::provider) ==
        "id,ledger,address,name,payout_group_id,balance,status,created_at,customer_id\r\n");
  CHECK(header<StoredIdentity>(Audience::client) ==
        "id,customer_id,ref_id,metadata,created_at,updated_at\r\n");
}

TEST_CASE("texts are quoted if necessary, and formulas get an apostrophe") {
  struct Case {
    std::string_view text;
    std::string_view cell;
  };
  const std::vector<Case> cases{
      {"plain", "plain"},
      {"two words", "two words"},
      {"", "\"\""},
      {"a,b", "\"a,b\""},
      {"say \"x\"", "\"say \"\"x\"\"\""},
      {"\"", "\"\"\"\""},
      {"line\nline", "\"line\nline\""},
      {"a\rb", "\"a\rb\""},
      {"=1+1", "'=1+1"},
      {"+1", "'+1"},
      {"-1", "'-1"},
      {"@SUM(A1)", "'@SUM(A1)"},
      {"\tx", "'\tx"},
      {"\rx", "\"'\rx\""},
      {"=a,\"b\"", "\"'=a,\"\"b\"\"\""},
      {"  =1", "'  =1"},
      {"   ", "   "},
      {"1-1", "1-1"},
      {"a=b", "a=b"},
      {"'=1", "''=1"},
      {"\xC3\xA9\xE2\x82\xAC", "\xC3\xA9\xE2\x82\xAC"},
  };
  for (const Case& row : cases) {
    CAPTURE(row.text);
    std::string out = "before,";
    append_csv_cell(out, row.text);
    CHECK(out == "before," + std::string(row.cell));
  }
}

TEST_CASE("JSON text is one quoted cell") {
  const auto quoted = [](std::string_view text) {
    std::string out;
    files::append_quoted(out, text);
    return out;
  };
  CHECK(quoted(R"({"a":"b,c"})") == R"("{""a"":""b,c""}")");
  CHECK(quoted("[]") == "\"[]\"");
  CHECK(quoted("\"\"") == "\"\"\"\"\"\"");
}

TEST_CASE("a claim: times and amounts are plain, lists are JSON, unset fields are empty") {
  Claim claim;
  claim.id = Id{"=claim"};
  claim.payout_group_id.value = "0198f3a2-7c31-7d5e-9b20-4f1a6c8e2d77";
  claim.claim_type.value = "CLAIM_ALL";
  claim.onchain_status = ClaimStatus::failed;
  claim.amount.text = "1.500";
  claim.tx_hash = TransactionHash{"0x" + std::string(64, 'a')};
  claim.addresses = Addresses{{"0x" + std::string(40, 'b')}, {"0x" + std::string(40, 'c')}};
  claim.error_message = Note{""};
  claim.asset_type = Term{"-ETH"};
  claim.created_at = *Timestamp::parse("2026-01-31T23:59:59Z");
  claim.updated_at.microseconds = claim.created_at.microseconds + 1;
  claim.customer_id.emplace().value = "a,b";
  const std::string row =
      "'=claim,0198f3a2-7c31-7d5e-9b20-4f1a6c8e2d77,CLAIM_ALL,,FAILED,1.500,0x" +
      std::string(64, 'a') + ",\"[\"\"0x" + std::string(40, 'b') + "\"\",\"\"0x" +
      std::string(40, 'c') +
      "\"\"]\",\"\",,'-ETH,,,2026-01-31T23:59:59.000000Z,2026-01-31T23:59:59.000001Z";
  CHECK(row_of(claim) == row + ",\"a,b\"\r\n");
  CHECK(row_of(claim, Audience::client) == row + "\r\n");
}

TEST_CASE("an orchestration: negative amounts are unchanged, nested objects are JSON") {
  Orchestration orchestration;
  orchestration.id = Id{"0198f3a2-7c31-7d5e-9b20-4f1a6c8e2d77"};
  orchestration.customer_id.value = "default";
  orchestration.status.value = "FAILED";
  orchestration.source_amount = Amount{"-0.10"};
  orchestration.source_transfer = Transfer{Label{"t"}, Word{"PENDING"}};
  orchestration.metadata = Metadata{{{"k", "\"=v\""}}};
  CHECK(row_of(orchestration) ==
        "0198f3a2-7c31-7d5e-9b20-4f1a6c8e2d77,,,,default,,,,-0.10,"
        "\"{\"\"transfer_id\"\":\"\"t\"\",\"\"status\"\":\"\"PENDING\"\"}\",,FAILED,,,,,"
        "1970-01-01T00:00:00.000000Z,1970-01-01T00:00:00.000000Z,"
        "\"{\"\"k\"\":\"\"\\\"\"=v\\\"\"\"\"}\"\r\n");
}

TEST_CASE("a control: closed sets are text, null is an empty cell") {
  Control control;
  control.id = Id{"c1"};
  control.type = ControlType::dormant;
  control.set_by = SetBy::provider;
  control.is_overridable = true;
  control.reason = Note{"away, again"};
  control.identity_id = Id{"i1"};
  CHECK(row_of(control, Audience::client) ==
        "c1,DORMANT,PROVIDER,true,,\"away, again\",1970-01-01T00:00:00.000000Z,,i1,,,\r\n");
  control.deleted_at = control.created_at;
  CHECK(row_of(control, Audience::client) ==
        "c1,DORMANT,PROVIDER,true,,\"away, again\",1970-01-01T00:00:00.000000Z,"
        "1970-01-01T00:00:00.000000Z,i1,,,\r\n");
}

TEST_CASE("a requested balance is shown, one line a row") {
  const auto database = db::sqlite::open(":memory:", {.is_temporary = true});
  const db::Lease connection = database->reader();
  CHECK(rows<RewardAddress>(*connection,
                            "SELECT 'a', 0, '0xA', NULL, NULL, '12.5', NULL, 0, NULL UNION ALL "
                            "SELECT 'b', 1, '@B', '', NULL, NULL, NULL, 0, NULL") ==
        "a,ETHEREUM,0xA,,,12.5,,1970-01-01T00:00:00.000000Z,\r\n"
        "b,SOLANA,'@B,\"\",,,,1970-01-01T00:00:00.000000Z,\r\n");
}

}  // namespace
}  // namespace comptroller::exporting
