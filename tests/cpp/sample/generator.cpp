#include "sample/generator.hpp"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model/error.hpp"
#include "model/ledger_address.hpp"

namespace comptroller::sample {
namespace {

constexpr std::array<std::string_view, 7> kinds{
    "identities",       "controls", "orchestrations", "payout-groups",
    "reward-addresses", "claims",   "balances"};

using Record =
    std::map<std::string, std::string>;  // top-level members: strings as text, other values as JSON

std::string text_of(const Options& options, std::size_t capacity = 1 << 16) {
  Generator generator(options);
  std::vector<char> buffer(capacity);
  std::string text;
  while (const std::size_t size = generator.read(buffer.data(), capacity)) {
    text.append(buffer.data(), size);
  }
  return text;
}

std::vector<Record> records_of(const std::string& text) {
  std::vector<Record> records;
  simdjson::dom::parser parser;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    REQUIRE(end != std::string::npos);
    const simdjson::dom::object object = parser.parse(text.data() + begin, end - begin);
    Record record;
    for (const auto [name, value] : object) {
      const std::string shown =
          value.is_string() ? std::string(std::string_view(value)) : simdjson::minify(value);
      REQUIRE(record.emplace(name, shown).second);
    }
    records.push_back(record);
    begin = end + 1;
  }
  return records;
}

// Generates a set of files with this number of claims.
std::map<std::string_view, std::vector<Record>> set_of(std::uint64_t claims,
                                                       const std::string& customer = {}) {
  std::map<std::string_view, std::vector<Record>> files;
  for (const std::string_view kind : kinds) {
    files[kind] =
        records_of(text_of({std::string(kind), rows_for(kind, claims), 20260630, customer}));
    CHECK(files[kind].size() == rows_for(kind, claims));
  }
  return files;
}

std::map<std::string, Record> by(const std::string& member, const std::vector<Record>& records) {
  std::map<std::string, Record> found;
  for (const Record& record : records) REQUIRE(found.emplace(record.at(member), record).second);
  return found;
}

std::uint64_t fingerprint(std::string_view text) {
  std::uint64_t hash = 14695981039346656037u;
  for (const char letter : text)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 1099511628211u;
  return hash;
}

TEST_CASE("the bytes of a sample are the same on every machine") {
  // Update these values when a sample is changed on purpose.
  const std::map<std::string_view, std::uint64_t> known{
      {"identities", 13062194204938976531u},       {"controls", 4991317257951388770u},
      {"orchestrations", 16882220785659437397u},   {"payout-groups", 1184905728098401883u},
      {"reward-addresses", 10134022350505529074u}, {"claims", 140691190531858069u},
      {"balances", 7413452138153839226u}};
  for (const std::string_view kind : kinds) {
    CAPTURE(kind);
    CHECK(fingerprint(text_of({std::string(kind), 2000, 1, {}})) == known.at(kind));
  }
}

TEST_CASE("the size of a read does not change the bytes") {
  for (const std::string_view kind : kinds) {
    CAPTURE(kind);
    const std::string whole = text_of({std::string(kind), 50, 1, {}});
    CHECK(text_of({std::string(kind), 50, 1, {}}, 1) == whole);
    CHECK(text_of({std::string(kind), 50, 1, {}}, 4099) == whole);
  }
}

TEST_CASE("another seed or another customer has other records") {
  const std::string ours = text_of({"reward-addresses", 40, 1, {}});
  CHECK(text_of({"reward-addresses", 40, 2, {}}) != ours);
  const auto own = by("address", records_of(ours));
  for (const Record& record : records_of(text_of({"reward-addresses", 40, 1, "acme"}))) {
    CHECK(record.at("customer_id") == "acme");
    CHECK(!own.contains(record.at("address")));
  }
  for (const Record& record : records_of(text_of({"reward-addresses", 40, 1, "default"}))) {
    CHECK(own.at(record.at("address")).at("id") == record.at("id"));
  }
}

TEST_CASE("every reference of a set is a line of the set") {
  for (const std::uint64_t claims : {1u, 100u, 3000u, 10000u}) {
    CAPTURE(claims);
    auto files = set_of(claims);
    const auto identities = by("id", files["identities"]);
    const auto groups = by("id", files["payout-groups"]);
    const auto addresses = by("id", files["reward-addresses"]);
    const auto texts = by("address", files["reward-addresses"]);
    for (const Record& control : files["controls"]) {
      REQUIRE(identities.contains(control.at("identity_id")));
    }
    for (const Record& orchestration : files["orchestrations"]) {
      REQUIRE(identities.contains(orchestration.at("identity_id")));
    }
    for (const Record& balance : files["balances"]) {
      REQUIRE(addresses.contains(balance.at("address_id")));
    }
    for (const Record& address : files["reward-addresses"]) {
      if (!address.contains("payout_group_id")) continue;
      REQUIRE(groups.at(address.at("payout_group_id")).at("ledger") == address.at("ledger"));
    }
    for (const Record& claim : files["claims"]) {
      REQUIRE(groups.at(claim.at("payout_group_id")).at("ledger") == claim.at("blockchain"));
      const std::string& list = claim.at("addresses");
      for (std::size_t at = list.find('"'); at != std::string::npos; at = list.find('"', at)) {
        const std::size_t end = list.find('"', at + 1);
        const Record& address = texts.at(list.substr(at + 1, end - at - 1));
        REQUIRE(address.at("payout_group_id") == claim.at("payout_group_id"));
        at = end + 1;
      }
    }
  }
}

TEST_CASE("ids are unique and lines are in order of time") {
  auto files = set_of(8000);
  for (const std::string_view kind : kinds) {
    CAPTURE(kind);
    const bool balances = kind == "balances";
    std::set<std::string> keys;
    std::string latest;
    for (const Record& record : files[kind]) {
      const std::string& instant = record.at(balances ? "at" : "created_at");
      REQUIRE(instant >= latest);
      latest = instant;
      REQUIRE(keys.insert(balances ? record.at("address_id") + instant : record.at("id")).second);
    }
  }
}

TEST_CASE("addresses are valid on their ledger") {
  for (const Record& address : records_of(text_of({"reward-addresses", 400, 1, {}}))) {
    const auto ledger = find_enum<Ledger>(address.at("ledger")).value_or(Ledger::ethereum);
    CHECK(enum_text(ledger) == address.at("ledger"));
    CHECK(canonical_address(ledger, address.at("address")));
  }
  for (const Record& group : records_of(text_of({"payout-groups", 100, 1, {}}))) {
    const auto ledger = find_enum<Ledger>(group.at("ledger")).value_or(Ledger::ethereum);
    CHECK(enum_text(ledger) == group.at("ledger"));
    for (const char* member : {"claimer_address", "manager_address", "destination_address"}) {
      CHECK(canonical_address(ledger, group.at(member)));
    }
  }
}

TEST_CASE("no identity has two active controls of one type and setter") {
  std::set<std::string> active;
  for (const Record& control : records_of(text_of({"controls", 5000, 1, {}}))) {
    if (control.at("deleted_at") != "null") {
      CHECK(control.at("deleted_at") > control.at("created_at"));
    } else {
      CHECK(active.insert(control.at("identity_id") + control.at("type") + control.at("set_by"))
                .second);
    }
  }
}

TEST_CASE("a claim has the members of its status") {
  std::map<std::string, int> statuses;
  for (const Record& claim : records_of(text_of({"claims", 50000, 1, {}}))) {
    const std::string& status = claim.at("onchain_status");
    ++statuses[status];
    REQUIRE(claim.contains("confirmed_at") == (status == "CONFIRMED"));
    REQUIRE(claim.contains("error_message") == (status == "FAILED"));
    REQUIRE(claim.contains("tx_hash") == claim.contains("submitted_at"));
    if (status != "FAILED") REQUIRE(claim.contains("tx_hash") == (status != "PENDING"));
  }
  CHECK(statuses["CONFIRMED"] > 47500);
  CHECK(statuses["FAILED"] > 600);
  CHECK(statuses["PENDING"] > 0);
  CHECK(statuses["SUBMITTED"] > 0);
}

TEST_CASE("customer_id is written if the specification has it, else only if given") {
  for (const std::string_view kind : kinds) {
    CAPTURE(kind);
    const bool member = kind == "identities" || kind == "orchestrations";
    const Record silent = records_of(text_of({std::string(kind), 1, 1, {}})).at(0);
    CHECK(silent.contains("customer_id") == member);
    const Record given = records_of(text_of({std::string(kind), 1, 1, "a\"c\\me"})).at(0);
    CHECK(given.contains("customer_id") == (kind != "balances"));
    if (given.contains("customer_id")) CHECK(given.at("customer_id") == "a\"c\\me");
  }
}

TEST_CASE("a million claims belong to 500 groups, fewer claims to fewer, but at least five") {
  CHECK(rows_for("payout-groups", 0) == 5);
  CHECK(rows_for("payout-groups", 10'000) == 50);
  CHECK(rows_for("payout-groups", 1'000'000) == 500);
  CHECK(rows_for("payout-groups", 10'000'000) == 500);
  CHECK(rows_for("claims", 12345) == 12345);
}

TEST_CASE("invalid options are refused") {
  CHECK(text_of({"claims", 0, 1, {}}).empty());
  CHECK_THROWS_AS(Generator({"claims", max_rows + 1, 1, {}}), Error);
  CHECK_THROWS_AS(Generator({"claims", 1, 1, "two words"}), Error);
  CHECK_THROWS_AS(Generator({"claims", 1, 1, std::string(129, 'a')}), Error);
  CHECK_THROWS_AS(rows_for("claim", 1), Error);
  try {
    const Generator generator({"claim", 1, 1, {}});
    FAIL("an unknown kind was accepted");
  } catch (const Error& error) {
    CHECK(error.code() == Code::invalid_request);
    CHECK(error.detail().find("reward-addresses") != std::string::npos);
  }
}

}  // namespace
}  // namespace comptroller::sample
