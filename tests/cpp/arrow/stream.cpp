#include "arrow/stream.hpp"

#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <limits>
#include <map>
#include <string>
#include <thread>

#include "allocations.hpp"
#include "arrow/consumer.hpp"
#include "arrow/rewards.hpp"

namespace comptroller::arrow {
namespace {

constexpr json::Audience provider = json::Audience::provider;

Table claims(const RowSource& source, std::vector<std::string> columns, Limits limits = {}) {
  return make_table("claims", std::move(columns), provider, source, limits);
}

// Chunks so small that a few rows need many chunks and threads.
Limits small_chunks() {
  Limits limits;
  limits.keys_per_chunk = 16;
  return limits;
}

std::string refusal(const std::vector<std::string>& columns, json::Audience audience = provider) {
  try {
    make_table("claims", columns, audience, {});
  } catch (const Error& error) {
    CHECK(error.code() == Code::invalid_request);
    REQUIRE(error.errors().size() == 1);
    CHECK(error.errors().front().field == "columns");
    return error.errors().front().message;
  }
  return "";
}

TEST_CASE("an empty table gives a schema and no batch") {
  Consumer consumer(make_table("claims", {}, provider, claims_of(temporary_database())));
  CHECK(consumer.next() == 0);
  CHECK(consumer.next() == 0);
  CHECK(consumer.message().empty());
}

TEST_CASE("columns come in the requested order, and invalid columns are refused by name") {
  const auto database = temporary_database();
  add_claims(database, 1);
  const auto table = claims(claims_of(database), {"amount", "id"});
  CHECK(rows_of(table) == std::vector<std::string>{"{1.5, claim-1}"});

  CHECK(refusal({"amuont"}) == "amuont is not known; did you mean amount?");
  CHECK(refusal({"id", "amount", "id"}) == "id appears more than once");
  CHECK(refusal({}) == "must name at least one column");
  CHECK(refusal({"customer_id"}).empty());
  CHECK_FALSE(refusal({"customer_id"}, json::Audience::client).empty());
  CHECK_THROWS_AS(make_table("claim", {}, provider, {}), Error);
}

TEST_CASE("many chunks are read completely and in order, with gaps between keys") {
  const auto database = temporary_database();
  add_claims(database, 1000);
  database->write([](db::Connection& connection) {
    connection.execute("DELETE FROM claims WHERE key BETWEEN 100 AND 299 OR key % 7 = 0");
  });
  std::vector<std::string> expected;
  for (int key = 1; key <= 1000; ++key) {
    if ((key >= 100 && key <= 299) || key % 7 == 0) continue;
    expected.push_back("{claim-" + std::to_string(key) + "}");
  }
  const auto table = claims(claims_of(database), {"id"}, small_chunks());
  CHECK(rows_of(table) == expected);
  CHECK(rows_of(table) == expected);
  CHECK(rows_of(claims(claims_of(database), {"id"})) == expected);

  ListClaims late;
  late.start_time = Timestamp{997};
  CHECK(rows_of(claims(claims_of(database, late), {"id"}, small_chunks())) ==
        std::vector<std::string>{"{claim-997}", "{claim-998}", "{claim-999}", "{claim-1000}"});
}

TEST_CASE("a stream takes no time for absent keys") {
  for (const std::int64_t key : {std::int64_t{1} << 33, std::int64_t{1} << 62,
                                 std::numeric_limits<std::int64_t>::max() - 1}) {
    const auto database = temporary_database();
    add_claims(database, 3);
    database->write([&](db::Connection& connection) {
      connection.execute("UPDATE claims SET key = " + std::to_string(key) + " WHERE key = 2");
    });
    CHECK(rows_of(claims(claims_of(database), {"id"}, small_chunks())) ==
          std::vector<std::string>{"{claim-1}", "{claim-3}", "{claim-2}"});
  }
}

TEST_CASE("a stream shows one snapshot") {
  const auto database = temporary_database();
  add_claims(database, 1000);
  const auto table = claims(claims_of(database), {"id"}, small_chunks());
  Consumer consumer(table);
  CHECK(consumer.next() == 16);
  database->write([](db::Connection& connection) { connection.execute("DELETE FROM claims"); });
  CHECK(consumer.all().size() == 1000);
  CHECK(rows_of(table).empty());
}

TEST_CASE("a batch ends early when its values are long") {
  const auto database = temporary_database();
  add_claims(database, 3000);
  Limits limits;
  limits.bytes_per_batch = 1;
  Consumer consumer(claims(claims_of(database), {"id"}, limits));
  CHECK(consumer.next() == 1024);
  CHECK(consumer.next() == 1024);
  CHECK(consumer.next() == 952);
  CHECK(consumer.next() == 0);
  CHECK(consumer.rows.back() == "{claim-3000}");
}

TEST_CASE("several threads read several streams at once") {
  const auto database = temporary_database();
  add_claims(database, 500);
  const auto table = claims(claims_of(database), {"id"}, small_chunks());
  std::vector<std::thread> threads;
  std::vector<std::size_t> counts(4);
  for (std::size_t& count : counts) {
    threads.emplace_back([&] {
      ArrowArrayStream stream{};
      table.open(&stream);
      ArrowArray array{};
      while (stream.get_next(&stream, &array) == 0 && array.release != nullptr) {
        count += static_cast<std::size_t>(array.length);
        array.release(&array);
      }
      stream.release(&stream);
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(counts == std::vector<std::size_t>(4, 500));
}

TEST_CASE("repeated texts have codes, which threads and streams of a table share") {
  const auto database = temporary_database();
  std::vector<std::string> expected;
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, "default");
    for (std::int64_t i = 1; i <= 1000; ++i) {
      Claim claim = claim_at(i);
      if (i % 10 != 0) claim.blockchain = Term{"chain " + std::to_string(i % 300)};
      insert_claim(connection, claim);
      expected.push_back(claim.blockchain ? claim.blockchain->value : "null");
    }
  });
  const std::vector<std::string> names{"blockchain", "id", "unknown"};
  const auto table = claims(claims_of(database), {"blockchain"}, small_chunks()).compact(names);
  CHECK(table.codes.size() == 1);
  CHECK(table.codes.at("blockchain")->texts().size() == 270);
  for (int read = 0; read < 2; ++read) {
    std::vector<std::string> rows = Consumer(table).all();
    const std::vector<std::string> texts = table.codes.at("blockchain")->texts();
    CHECK(texts.size() == 270);
    for (std::string& row : rows) {
      row = row.substr(1, row.size() - 2);
      if (row != "null") row = texts.at(std::stoul(row));
    }
    CHECK(rows == expected);
  }
  CHECK(rows_of(claims(claims_of(database), {"id"}).compact(names)).front() == "{claim-1}");
}

TEST_CASE("texts at both ends of a table have codes before a stream is read") {
  const auto database = temporary_database();
  const std::vector<std::string> names{"blockchain"};
  CHECK(claims(claims_of(database), names).compact(names).codes.at("blockchain")->texts().empty());
  const std::map<std::int64_t, std::string> chains{{1, "first"}, {2500, "middle"}, {5000, "last"}};
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, "default");
    for (std::int64_t i = 1; i <= 5000; ++i) {
      Claim claim = claim_at(i);
      if (chains.contains(i)) claim.blockchain = Term{chains.at(i)};
      insert_claim(connection, claim);
    }
  });
  const auto table = claims(claims_of(database), names).compact(names);
  const auto texts = [&] { return table.codes.at("blockchain")->texts(); };
  CHECK(texts() == std::vector<std::string>{"first", "last"});
  CHECK(Consumer(table).all().size() == 5000);
  CHECK(texts() == std::vector<std::string>{"first", "last", "middle"});
}

TEST_CASE("compact rows have codes of closed sets, UUIDs of groups, and times without a zone") {
  const auto database = temporary_database();
  std::vector<std::string> groups;
  database->write([&](db::Connection& connection) {
    store::ensure_customer(connection, "default");
    for (std::int64_t i = 1; i <= 300; ++i) {
      Claim claim = claim_at(i);
      claim.payout_group_id.value =
          "0190abcd-0000-7000-8000-" + std::to_string(100'000'000'000 + i % 70);
      claim.onchain_status = i % 2 == 0 ? ClaimStatus::confirmed : ClaimStatus::pending;
      insert_claim(connection, claim);
      groups.push_back(claim.payout_group_id.value);
    }
  });
  const std::vector<std::string> columns{"payout_group_id", "onchain_status", "created_at"};
  const Table table = claims(claims_of(database), columns, small_chunks());
  ArrowSchema schema{};
  table.compact({}).export_schema(&schema);
  CHECK(schema.children[0]->format == std::string("w:16"));
  CHECK(schema.children[1]->format == std::string("c"));
  CHECK(schema.children[1]->dictionary == nullptr);
  CHECK(schema.children[2]->format == std::string("tsu:"));
  schema.release(&schema);
  std::vector<std::string> rows = Consumer(table.compact({})).all();
  const std::vector<std::string> expected = Consumer(table).all();
  REQUIRE(rows.size() == 300);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string status = i % 2 == 1 ? ", 2, " : ", 0, ";
    CHECK(rows[i].starts_with("{" + groups[i] + status));
    CHECK(rows[i].substr(rows[i].rfind(' ')) == expected[i].substr(expected[i].rfind(' ')));
  }
}

TEST_CASE("an id of a group that is not a UUID is damage") {
  if (!db::tests_use_sqlite()) return;  // its process caches the text
  const auto database = temporary_database();
  add_claims(database, 1);
  database->write([](db::Connection& connection) {
    connection.execute(
        "UPDATE symbols SET text = 'group' WHERE key = (SELECT payout_group_id FROM claims)");
  });
  Consumer consumer(claims(claims_of(database), {"payout_group_id"}).compact({}));
  CHECK(consumer.next() < 0);
  CHECK(consumer.message().find("not a UUID") != std::string::npos);
}

TEST_CASE("a stream may be released at any time, and outlives its table") {
  const auto database = temporary_database();
  add_claims(database, 500);
  {
    Consumer unread(claims(claims_of(database), {"id"}, small_chunks()));
  }
  {
    Consumer begun(claims(claims_of(database), {"id"}, small_chunks()));
    CHECK(begun.next() == 16);
  }
  // Its connections were returned without a transaction, so the log can be checkpointed into the
  // file.
  database->write_bulk([](db::Connection&) { return true; });
  CHECK(rows_of(claims(claims_of(database), {"id"}, small_chunks())).size() == 500);
}

TEST_CASE("a batch outlives its stream, and a column its batch") {
  const auto database = temporary_database();
  add_claims(database, 3);
  ArrowArray batch{};
  ArrowSchema schema{};
  {
    Consumer consumer(claims(claims_of(database), {"amount", "id"}));
    REQUIRE(consumer.stream().get_next(&consumer.stream(), &batch) == 0);
    REQUIRE(consumer.stream().get_schema(&consumer.stream(), &schema) == 0);
  }
  ArrowArray moved = *batch.children[1];
  batch.children[1]->release = nullptr;
  batch.release(&batch);
  CHECK(show(*schema.children[1], moved, 2) == "claim-3");
  moved.release(&moved);
  schema.release(&schema);
}

TEST_CASE("a stream that is idle for too long ends with an error and releases its snapshot") {
  const auto path = std::filesystem::temp_directory_path() /
                    ("comptroller-idle-" + std::to_string(::getpid()) + ".db");
  const Database database = db::sqlite::open(path.string(), {});
  add_claims(database, 500);
  Limits limits = small_chunks();
  limits.max_idle_time = std::chrono::milliseconds(0);
  Consumer consumer(claims(claims_of(database), {"id"}, limits));
  CHECK(consumer.next() == 16);

  // A large log is checkpointed, and empty afterwards, when no reader needs an earlier state.
  database->write_bulk([](db::Connection& connection) {
    connection.execute("CREATE TABLE filler (bytes)");
    return true;
  });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    database->write_bulk([](db::Connection& connection) {
      connection.execute(
          "DELETE FROM filler; WITH RECURSIVE row (number) AS"
          " (SELECT 1 UNION ALL SELECT number + 1 FROM row WHERE number < 5000)"
          " INSERT INTO filler SELECT zeroblob(4000) FROM row");
      return true;
    });
  } while (std::filesystem::file_size(path.string() + "-wal") != 0 &&
           std::chrono::steady_clock::now() < deadline);
  CHECK(std::filesystem::file_size(path.string() + "-wal") == 0);

  CHECK(consumer.next() == -EIO);
  CHECK(consumer.message() ==
        "unavailable: the stream was idle for too long and has ended; open another stream");
  CHECK(consumer.next() == -EIO);
  for (const char* suffix : {"", "-wal", "-shm", "-lock", "-opening-lock"}) {
    std::filesystem::remove(path.string() + suffix);
  }
}

TEST_CASE("a stream without a snapshot may be idle") {
  const auto database = temporary_database();
  add_claims(database, 3000);
  Limits limits;
  limits.bytes_per_batch = 1;
  limits.max_idle_time = std::chrono::milliseconds(0);
  CHECK(Consumer(claims(claims_of(database), {"id"}, limits)).all().size() == 3000);
}

TEST_CASE("closing the service ends its streams") {
  const auto database = temporary_database();
  add_claims(database, 40);
  bool is_closed = false;
  RowSource source = claims_of(database);
  source.check = [&] {
    if (is_closed) throw Error(Code::closed, "the service is closed");
  };
  const auto table = claims(source, {"id"}, small_chunks());
  Consumer consumer(table);
  CHECK(consumer.next() == 16);
  is_closed = true;
  CHECK(consumer.next() == -EIO);
  CHECK(consumer.message() == "closed: the service is closed");
  ArrowArrayStream stream{};
  CHECK_THROWS_AS(table.open(&stream), Error);
}

TEST_CASE("no exception leaves a stream whose failure has no memory for its message") {
  const auto database = temporary_database();
  auto source = claims_of(database);
  const Error failure(Code::closed, "the service is closed, and this text needs memory");
  bool is_closed = false;
  source.check = [&] {
    if (is_closed) throw failure;
  };
  Consumer consumer(claims(source, {"id"}));
  is_closed = true;
  const auto fail_with = [&](int allocations) {
    const FailingAllocations scope(allocations + 1);
    return consumer.next();
  };
  CHECK(fail_with(0) == -ENOMEM);
  CHECK(fail_with(1) == -EIO);
  CHECK(consumer.message().empty());
  CHECK(fail_with(100) == -EIO);
  CHECK(consumer.message() == "closed: " + failure.detail());
}

TEST_CASE("a failure in a thread is reported by every later call") {
  const auto database = temporary_database();
  add_claims(database, 200);
  database->write([](db::Connection& connection) {
    connection.execute("UPDATE claims SET onchain_status = 9 WHERE key = 150");
  });
  for (const Limits& limits : {Limits{}, small_chunks()}) {
    Consumer consumer(claims(claims_of(database), {"onchain_status"}, limits));
    while (consumer.next() > 0) {
    }
    CHECK(consumer.next() == -EIO);
    CHECK(consumer.message() ==
          "unusable: the store is damaged: claims.onchain_status of key 150: a code has no value; "
          "restore a backup, or correct the value");
  }
  RowSource source = claims_of(database);
  source.listing = [](db::Connection&) -> store::Listing {
    throw Error::invalid("chain", "is refused");
  };
  CHECK(Consumer(claims(source, {"id"})).next() == -EINVAL);
}

}  // namespace
}  // namespace comptroller::arrow
