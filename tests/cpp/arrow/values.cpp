// The columns of every kind: types, values, nulls and schemas.
#include <algorithm>
#include <array>
#include <string>

#include "arrow/consumer.hpp"
#include "arrow/rewards.hpp"
#include "model/requests.hpp"
#include "store/identities.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"
#include "store/reward_addresses.hpp"
#include "store/writing.hpp"

namespace comptroller::arrow {
namespace {

constexpr json::Audience provider = json::Audience::provider;
const std::string uuid = "0190163d-8694-739b-aea5-966c26f8ad91";

using Rows = std::vector<std::string>;

void write(const Database& database, const std::function<void(store::Changes&)>& work) {
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, "default");
    store::Writing writing(connection);
    work(writing);
  });
}

// Calls a function for 0 to `rows` - 1, in writes that take less than the time limit of one even
// with a sanitizer.
void write_rows(const Database& database, std::size_t rows,
                const std::function<void(store::Changes&, std::size_t)>& add) {
  constexpr std::size_t rows_of_write = 1'000;
  for (std::size_t begin = 0; begin < rows; begin += rows_of_write) {
    write(database, [&](store::Changes& writing) {
      for (std::size_t row = begin; row < std::min(begin + rows_of_write, rows); ++row) {
        add(writing, row);
      }
    });
  }
}

void insert_orchestration(store::Changes& writing, const Orchestration& orchestration) {
  const std::array orchestrations{store::NewOrchestration{&orchestration}};
  store::insert_many(writing, orchestrations);
}

// Describes every column as name:format, with a ? if it is nullable, and its children.
std::string describe(const ArrowSchema& schema) {
  std::string text = std::string(schema.name) + ":" + schema.format;
  if ((schema.flags & ARROW_FLAG_NULLABLE) != 0) text += "?";
  if (schema.dictionary != nullptr) text += "<" + describe(*schema.dictionary) + ">";
  if (schema.n_children == 0) return text;
  text += "(";
  for (std::int64_t i = 0; i < schema.n_children; ++i) {
    if (i > 0) text += " ";
    text += describe(*schema.children[i]);
  }
  return text + ")";
}

std::string schema_of(std::string_view kind, json::Audience audience = provider) {
  ArrowSchema schema{};
  make_table(kind, {}, audience, {}).export_schema(&schema);
  const std::string text = describe(schema);
  schema.release(&schema);
  return text;
}

template <class List>
RowSource source_of(const Database& database, List list) {
  return {database, list, [] {}};
}

store::Ownership everyone(db::Connection& connection) {
  return store::ownership(connection, std::nullopt);
}

TEST_CASE("the columns of each kind have their Arrow types") {
  CHECK(schema_of("claims") ==
        ":+s(id:u payout_group_id:u claim_type:u claim_schedule_id:u? onchain_status:c<:u>"
        " amount:d:38,18 tx_hash:u? addresses:+l?(item:u) error_message:u? blockchain:u?"
        " asset_type:u? submitted_at:tsu:UTC? confirmed_at:tsu:UTC? created_at:tsu:UTC"
        " updated_at:tsu:UTC customer_id:u?)");
  CHECK(schema_of("balances") == ":+s(address_id:u balance:d:38,18 at:tsu:UTC)");
  CHECK(schema_of("controls", json::Audience::client) ==
        ":+s(id:u type:c<:u> set_by:c<:u> is_overridable:b reason_code:u? reason:u?"
        " created_at:tsu:UTC deleted_at:tsu:UTC? identity_id:u created_by:u? deleted_by:u?"
        " deletion_reason:u?)");
  CHECK(schema_of("identities", json::Audience::client) ==
        ":+s(id:u customer_id:u ref_id:u? status:c<:u> status_details:+s("
        "active_controls:+l(item:+s(id:u type:c<:u> set_by:c<:u> is_overridable:b reason_code:u?"
        " reason:u? created_at:tsu:UTC deleted_at:tsu:UTC? identity_id:u created_by:u?"
        " deleted_by:u? deletion_reason:u?)) permitted_actions:+l(item:u))"
        " user_disabled:b admin_disabled:b metadata:+m?(entries:+s(key:u value:u))"
        " created_at:tsu:UTC updated_at:tsu:UTC)");
}

TEST_CASE("all members of a claim have a column, and missing members are null") {
  const auto database = temporary_database();
  add(database, claim_at(1));
  Claim full = claim_at(2);
  full.id = Id{uuid};
  full.claim_schedule_id = Term{"daily"};
  full.onchain_status = ClaimStatus::failed;
  full.amount = NonNegativeAmount{"99999999999999999999.999999999999999999"};
  full.tx_hash = TransactionHash{"0x" + std::string(62, '0') + "9f"};
  full.addresses =
      Addresses{Label{"0x" + std::string(40, 'a')}, Label{"0x" + std::string(40, '1')}};
  full.error_message = Note{""};
  full.blockchain = Term{"INK"};
  full.asset_type = Term{"\xc3\xa9"};
  full.submitted_at = earliest_timestamp;
  full.confirmed_at = latest_timestamp;
  add(database, full);
  const Rows rows = rows_of(make_table("claims", {}, provider, claims_of(database)));
  REQUIRE(rows.size() == 2);
  CHECK(rows[0] == "{claim-1, " + uuid +
                       ", CLAIM_ALL, null, PENDING, 1.5, null, null, null, null, null, null, null,"
                       " 1, 1, default}");
  CHECK(rows[1] == "{" + uuid + ", " + uuid +
                       ", CLAIM_ALL, daily, FAILED, 99999999999999999999.999999999999999999, 0x" +
                       std::string(62, '0') + "9f, [0x" + std::string(40, 'a') + ", 0x" +
                       std::string(40, '1') +
                       "], , INK, \xc3\xa9, -62135596800000000,"
                       " 253402300799999999, 2, 2, default}");
}

TEST_CASE("addresses and hashes keep their text in every storage format") {
  const auto database = temporary_database();
  const std::vector<Addresses> given{
      {},
      {Label{"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"}, Label{"0xAb, \\ ] "}},
      {Label{"a\",\"b"}},
      {Label{"a,b"}, Label{"[c]"}, Label{"d"}}};
  std::int64_t instant = 0;
  for (const Addresses& addresses : given) {
    Claim claim = claim_at(++instant);
    claim.addresses = addresses;
    claim.tx_hash = TransactionHash{"any label"};
    add(database, claim);
  }
  CHECK(rows_of(make_table("claims", {{"addresses", "tx_hash"}}, provider, claims_of(database))) ==
        Rows{"{[], any label}",
             "{[9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM, 0xAb, \\ ] ], any label}",
             "{[a\",\"b], any label}", "{[a,b, [c], d], any label}"});
}

TEST_CASE("recurring addresses keep their text") {
  const auto database = temporary_database();
  Addresses different;
  const std::string long_text(60, 'x');
  for (std::size_t size = 1; size <= long_text.size(); ++size) {
    different.push_back(Label{long_text.substr(0, size)});
  }
  // The bytes of the first text are also those of the second as the store packs it.
  different.push_back(Label{"abcdefghijklmnopqrst"});
  different.push_back(Label{"0x6162636465666768696a6b6c6d6e6f7071727374"});
  for (int i = 0; i < 10000; ++i) {
    std::string digits = std::to_string(i);
    digits.insert(0, 40 - digits.size(), '0');
    different.push_back(Label{(i % 2 == 0 ? "0x" : "0X") + digits});
  }
  Rows expected;
  write_rows(database, 3 * different.size(), [&](store::Changes& writing, std::size_t i) {
    const Label& address = different[i % different.size()];
    Claim claim = claim_at(static_cast<std::int64_t>(i));
    claim.addresses = Addresses{address, address};
    insert_claim(writing.connection(), claim);
    expected.push_back("{[" + address.value + ", " + address.value + "]}");
  });
  const Limits small_chunks{.keys_per_chunk = 700};
  CHECK(rows_of(make_table("claims", {{"addresses"}}, provider, claims_of(database))) == expected);
  CHECK(rows_of(make_table("claims", {{"addresses"}}, provider, claims_of(database),
                           small_chunks)) == expected);
}

TEST_CASE("texts of every length are complete, inside their views and outside") {
  const auto database = temporary_database();
  Rows expected;
  for (std::size_t length = 0; length < 40; ++length) {
    Claim claim = claim_at(static_cast<std::int64_t>(length));
    const std::string text =
        std::string("0123456789abcdefghijklmnopqrstuvwxyzABCD").substr(0, length);
    if (length % 3 != 2) claim.error_message = Note{text};
    add(database, claim);
    expected.push_back(length % 3 != 2 ? "{" + text + "}" : "{null}");
  }
  CHECK(rows_of(make_table("claims", {{"error_message"}}, provider, claims_of(database))) ==
        expected);
}

TEST_CASE("many symbols have their own texts") {
  const auto database = temporary_database();
  Rows expected;
  write_rows(database, 10'000, [&](store::Changes& writing, std::size_t i) {
    Claim claim = claim_at(static_cast<std::int64_t>(i));
    claim.asset_type = Term{"asset " + std::to_string(i % 9'000)};
    insert_claim(writing.connection(), claim);
    expected.push_back("{asset " + std::to_string(i % 9'000) + "}");
  });
  CHECK(rows_of(make_table("claims", {{"asset_type"}}, provider, claims_of(database))) == expected);
}

TEST_CASE("an orchestration's nested records are structs") {
  const auto database = temporary_database();
  write(database, [](store::Changes& writing) {
    Orchestration bare_one;
    bare_one.id = Id{"bare"};
    bare_one.status = Word{"PENDING"};
    insert_orchestration(writing, owned_by_default(bare_one));
    Orchestration full = bare_one;
    full.id = Id{"full"};
    full.source_amount = Amount{"-0.10"};
    full.source_transfer = Transfer{Label{"t1"}, Word{"COMPLETED"}};
    full.destination_transfer = Transfer{};
    full.fail_reason = FailReason{Note{"\"why\""}};
    full.source = comptroller::Source{};
    full.source->crypto = CryptoEndpoint{Label{"a1"}, Label{"0xA"}, std::nullopt};
    full.destination = Destination{};
    full.destination->profile = ProfileEndpoint{Id{"p1"}};
    full.metadata = Metadata{{{"k", "v"}, {"empty", ""}}};
    insert_orchestration(writing, owned_by_default(full));
  });
  const RowSource source = source_of(database, [](db::Connection& connection) {
    return store::make_listing<Orchestration>(connection, ListOrchestrations{},
                                              everyone(connection));
  });
  CHECK(rows_of(make_table("orchestrations",
                           {{"id", "source_amount", "source_transfer", "destination_transfer",
                             "fail_reason", "source", "destination", "metadata"}},
                           provider, source)) ==
        Rows{"{bare, null, null, null, null, null, null, null}",
             "{full, -0.1, {t1, COMPLETED}, {null, null}, {\"why\"}, {{a1, 0xA, null}, null, null},"
             " {null, null, {p1}}, [{k, v}, {empty, }]}"});
  CHECK(rows_of(make_table("orchestrations", {}, provider, source)).size() == 2);
}

TEST_CASE("an address shows its balance as of the listing's time if it is requested") {
  const auto database = temporary_database();
  write(database, [](store::Changes& writing) {
    RewardAddress address;
    address.id = Uuid{uuid};
    address.ledger = Ledger::solana;
    address.address = Label{"9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM"};
    store::insert(writing, owned_by_default(address));
    for (const std::int64_t at : {5, 10, 20}) {
      store::insert(writing,
                    Balance{Uuid{uuid}, NonNegativeAmount{std::to_string(at)}, Timestamp{at}});
    }
  });
  const auto addresses_at = [&](std::int64_t instant) {
    return source_of(database, [instant](db::Connection& connection) {
      ListRewardAddresses request;
      request.ledger = Ledger::solana;
      request.include_balance = true;
      return store::listing_for(connection, request, everyone(connection), {Timestamp{instant}});
    });
  };
  const auto shown = [&](std::vector<std::string> columns, std::int64_t instant) {
    return rows_of(
        make_table("reward_addresses", std::move(columns), provider, addresses_at(instant)));
  };
  CHECK(shown({"ledger", "balance", "name"}, 12) == Rows{"{SOLANA, 10, null}"});
  CHECK(shown({"balance"}, 4) == Rows{"{0}"});
  CHECK(shown({"ledger", "status"}, 12) == Rows{"{SOLANA, null}"});
  CHECK(rows_of(make_table("reward_addresses", {}, json::Audience::client, addresses_at(20))) ==
        Rows{"{" + uuid +
             ", SOLANA, 9WzDXwBbmkg8ZTbNMqUxvQRAyrZzDsGYdLVL9zYtAWWM, null, null, 20,"
             " null, 0}"});
  CHECK(
      rows_of(make_table(
          "balances", {}, provider, source_of(database, [](auto& connection) {
            return store::make_listing<Balance>(connection, ListBalances{}, {});
          }))) == Rows{"{" + uuid + ", 5, 5}", "{" + uuid + ", 10, 10}", "{" + uuid + ", 20, 20}"});
}

TEST_CASE("a payout group shows its schedule") {
  const auto database = temporary_database();
  write(database, [](store::Changes& writing) {
    PayoutGroup group;
    group.id = GroupId{{uuid}};
    group.schedule_type = ScheduleType::daily;
    group.balance = decltype(group.balance){NonNegativeAmount{"0"}};
    store::insert_payout_group(writing, owned_by_default(group));
  });
  const RowSource source = source_of(database, [](db::Connection& connection) {
    return store::make_listing<PayoutGroup>(connection, ListPayoutGroups{}, everyone(connection));
  });
  CHECK(rows_of(make_table("payout_groups", {{"id", "ledger", "schedule_type", "balance"}},
                           provider, source)) == Rows{"{" + uuid + ", ETHEREUM, DAILY, 0}"});
  CHECK(rows_of(make_table("payout_groups", {}, provider, source)).size() == 1);
}

TEST_CASE("an identity shows the values derived from its active controls") {
  const auto database = temporary_database();
  write(database, [](store::Changes& writing) {
    StoredIdentity identity;
    identity.id = Id{"free"};
    identity.customer_id = CustomerId{{"default"}};
    store::insert_identity(writing, identity);
    identity.id = Id{"bound"};
    identity.metadata = Metadata{{{"k", "v"}}};
    const std::int64_t key = store::insert_identity(writing, identity);
    Control control;
    control.identity_id = Id{"bound"};
    control.is_overridable = true;
    control.id = Id{"active"};
    store::insert_control(writing, owned_by_default(control), {key, identity});
    control.id = Id{"lifted"};
    control.type = ControlType::frozen;
    control.deleted_at = Timestamp{9};
    store::insert_control(writing, owned_by_default(control), {key, identity});
  });
  const RowSource identities = source_of(database, [](db::Connection& connection) {
    return store::make_listing<StoredIdentity>(connection, ListIdentities{}, everyone(connection));
  });
  const std::string shown_control =
      "{active, SELL_ONLY, CLIENT, true, null, null, 0, null, bound, null, null, null";
  CHECK(rows_of(make_table("identities", {}, provider, identities)) ==
        Rows{"{free, default, null, APPROVED, {[], [BUY, SELL, DEPOSIT, WITHDRAW]}, false, false,"
             " null, 0, 0}",
             "{bound, default, null, DISABLED, {[" + shown_control +
                 ", default}], [SELL]}, true, false, [{k, v}], 0, 0}"});
  CHECK(rows_of(make_table("identities", {{"status_details"}}, json::Audience::client, identities))
            .back() == "{{[" + shown_control + "}], [SELL]}}");
  CHECK(rows_of(make_table("identities", {{"metadata", "id"}}, provider, identities)) ==
        Rows{"{null, free}", "{[{k, v}], bound}"});

  CHECK(rows_of(make_table(
            "controls", {{"id", "type", "is_overridable", "deleted_at"}}, provider,
            source_of(database, [](db::Connection& connection) {
              ListControls request;
              request.include_deleted = true;
              return store::listing_for(connection, request, everyone(connection), {});
            }))) == Rows{"{active, SELL_ONLY, true, null}", "{lifted, FROZEN, true, 9}"});
}

TEST_CASE("nulls and booleans keep their positions over many rows") {
  const auto database = temporary_database();
  Rows expected;
  write(database, [&](store::Changes& writing) {
    for (int i = 0; i < 100; ++i) {
      Claim claim = claim_at(i);
      if (i % 9 > 2) claim.submitted_at = Timestamp{i};
      if (i > 90) claim.error_message = Note{std::to_string(i)};
      insert_claim(writing.connection(), claim);
      expected.push_back("{" + (i % 9 > 2 ? std::to_string(i) : "null") + ", " +
                         (i > 90 ? std::to_string(i) : "null") + "}");
    }
  });
  Limits limits;
  limits.keys_per_chunk = 10;
  CHECK(rows_of(make_table("claims", {{"submitted_at", "error_message"}}, provider,
                           claims_of(database), limits)) == expected);
}

}  // namespace
}  // namespace comptroller::arrow
