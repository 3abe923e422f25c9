// Values that are bound to columns are equal when read back.
#include "store/columns.hpp"

#include <doctest/doctest.h>

#include "db/sqlite/database.hpp"
#include "model/records.hpp"

namespace comptroller::store {
namespace {

const std::string uuid = "0190163d-8694-739b-aea5-966c26f8ad91";

// Returns two values of each type: one with a compact storage format, if its type has one, and one
// without.
void fill(bool& value, bool second) {
  value = second;
}
template <ClosedSet E>
void fill(E& value, bool second) {
  value = static_cast<E>(second && enum_texts<E>.size() > 1 ? 1 : 0);
}
void fill(Timestamp& value, bool second) {
  value = second ? earliest_timestamp : latest_timestamp;
}
void fill(Amount& value, bool second) {
  value.text = second ? "-0012.50" : "7";
}
void fill(Word& value, bool second) {
  value.value = second ? "DONE" : "PENDING";
}
void fill(Id& value, bool second) {
  value.value = second ? "id-1" : uuid;
}
void fill(TransactionHash& value, bool second) {
  value.value = second ? "a \"hash\"" : "0x" + std::string(64, 'a');
}
void fill(Metadata& value, bool second) {
  if (second) value.pairs = {{"k", "say \"v\"\\"}, {"l", ""}};
}
template <class T>
  requires requires(T value) { value.value = std::string(); }
void fill(T& value, bool second) {
  value.value = second ? "text \"é\"" : uuid;
}
void fill(Addresses& value, bool second) {
  if (second) value = {Label{"0xAB"}, Label{"b\\"}};
  if (!second) value = {Label{"0x" + std::string(40, 'a')}, Label{"0x" + std::string(40, '1')}};
}
template <Record R>
void fill(R& record, bool second);
template <class T>
void fill(std::optional<T>& value, bool second) {
  fill(value.emplace(), second);
}
template <Record R>
void fill(R& record, bool second) {
  for_each_field<R>([&]<class F>() {
    if constexpr (!is_derived<bare<typename F::Type>>) fill(record.*F::member, second);
  });
}

TEST_CASE_TEMPLATE("a row has the JSON of its record, and is read as the same record", R,
                   StoredIdentity, Control, Orchestration, PayoutGroup, RewardAddress, Balance,
                   Claim) {
  R full{};
  R other{};
  fill(full, false);
  fill(other, true);
  const auto database = db::sqlite::open(":memory:", {.is_temporary = true});
  database->write([&](db::Connection& connection) {
    std::string sql = "SELECT ";
    int index = 0;
    for_each_field<R>([&]<class F>() {
      if (sql.back() != ' ') sql += ", ";
      sql += is_derived<bare<typename F::Type>> ? "NULL" : "?" + std::to_string(++index);
    });
    for (const R& record : {full, other, R{}}) {
      BoundValues values(connection.symbols());
      db::Query query = connection.query(sql);
      bind_record(query, record, values);
      REQUIRE(query.step());
      for (const Audience audience : {Audience::client, Audience::provider}) {
        std::string row = "before";
        append_row<R>(row, query, connection.symbols(), audience);
        CHECK(row == "before" + json::to_text(record, audience));
      }
      CHECK(json::to_text(read_row<R>(query, connection.symbols())) == json::to_text(record));
    }
  });
}

TEST_CASE("invalid stored values are reported as damage") {
  const auto database = db::sqlite::open(":memory:", {.is_temporary = true});
  const db::Lease connection = database->reader();
  for (const char* row : {"x'00', '1', 0",
                          "x'"
                          "00112233445566778899aabbccddeeff00', '1', 0",
                          "'a', '1', 9223372036854775807", "'a', '1', -62135596800000001"}) {
    CAPTURE(row);
    db::Query query = connection->query("SELECT " + std::string(row));
    REQUIRE(query.step());
    CHECK_THROWS_AS(read_row<Balance>(query, connection->symbols()), Error);
  }
}

}  // namespace
}  // namespace comptroller::store
