// Statistics that another program's ANALYZE stores do not change the work of a running service.
#include "store/statistics.hpp"

#include "db/folder.hpp"
#include "service/maintenance.hpp"
#include "store/counted_work.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::store {
namespace {

// Another program, which has the file open.
class OtherProgram {
 public:
  explicit OtherProgram(const std::string& path) {
    sqlite3_open_v2(path.c_str(), &handle_, SQLITE_OPEN_READWRITE, nullptr);
    sqlite3_busy_timeout(handle_, 5000);
  }
  ~OtherProgram() { sqlite3_close_v2(handle_); }
  OtherProgram(const OtherProgram&) = delete;
  OtherProgram& operator=(const OtherProgram&) = delete;
  sqlite3* handle() const { return handle_; }

 private:
  sqlite3* handle_ = nullptr;
};

// A store of one customer whose tables had few rows when another program ran ANALYZE, if it did.
struct Grown : ServiceFixture {
  Grown(const std::string& path, bool is_analysed) : ServiceFixture(db::sqlite::open(path, {})) {
    add(0, 1);
    count(provider, "identities.list");  // so that a reader is open
    if (is_analysed) {
      const OtherProgram other(path);
      REQUIRE(sqlite3_exec(other.handle(), "ANALYZE", nullptr, nullptr, nullptr) == SQLITE_OK);
    }
    add(1, many_rows);
    now.microseconds += 100'000LL * 1'000'000;
  }

  void add(int from, int before) {
    std::vector<IdentityLine> identities;
    std::vector<Control> controls;
    std::vector<Claim> claims;
    for (int i = from; i < before; ++i) {
      const Timestamp time{start.microseconds + i * 1'000'000LL};
      identities.push_back(Store::identity(i, "acme", time));
      controls.push_back(Store::control(i, "acme", time));
      claims.push_back(Store::claim(i, "acme", time));
    }
    store_records(*this, identities);
    store_records(*this, controls);
    store_records(*this, claims);
  }
};

TEST_CASE("another program's ANALYZE of small tables does not make operations slower") {
  StatementRecorder recorder;
  const db::Folder folder;
  Grown usual(folder / "usual.db", false);
  Grown analysed(folder / "analysed.db", true);
  const std::vector<std::pair<const char*, std::pair<Parameters, std::string>>> calls{
      {"identities.list", {{}, ""}},
      {"identities.list", {{{"ref_id", "ref-1000"}}, ""}},
      {"identities.list", {{{"control_types", "FROZEN"}}, ""}},
      {"identities.get", {{{"id", id_of(1, 100)}}, ""}},
      {"identities.put", {{}, R"({"id":")" + id_of(1, 100) + R"(","metadata":{"a":"b"}})"}},
      {"controls.list", {{{"identity_id", id_of(1, 100)}}, ""}},
      {"claims.list", {{{"statuses", "FAILED"}}, ""}},
      {"payout_groups.create",
       {{},
        R"({"ledger":"ETHEREUM","asset_type":"A0","jurisdiction":"DE","name":"new",)"
        R"("claimer_address":"0x0000000000000000000000000000000000000001"})"}}};
  for (const auto& [operation, given] : calls) {
    CAPTURE(operation);
    const auto& [parameters, body] = given;
    const auto steps = [&](ServiceFixture& store) {
      return steps_of(
          recorder.record([&] { store.call(store.provider, operation, parameters, body); }));
    };
    const std::int64_t expected = steps(usual);
    CHECK(steps(analysed) <= expected + expected / 10 + 200);  // and finds its indexes again
  }
}

TEST_CASE("with any statistics, loads find the rows of an identity or a group by an index") {
  StatementRecorder recorder;
  ServiceFixture store;
  const auto ran = recorder.record([&] {
    store_records(store, std::vector{Store::claim(0, "acme", start)});
    store_records(store, std::vector{Store::address(0, "acme", start)});
    store_records(store, std::vector{Store::group(0, "acme", start)});
    store_records(store, std::vector{Store::control(0, "acme", start)});
    const Timestamp later{start.microseconds + 1};
    store_records(store, std::vector{Store::identity(0, "acme", later)});
    store.service.database()->write([&](db::Connection& connection) {
      const std::int64_t group = connection.symbols().intern(id_of(4, 0));
      withdraw_claim_all(connection, group, later);
    });
  });
  CHECK(ran.size() > 20);
  check_plans(recorder, ran, Sorting::allowed);
}

TEST_CASE("with any statistics, the cost of a check is proportional to the size of the store") {
  StatementRecorder recorder;
  const db::Folder folder;
  Grown store(folder / "store.db", false);
  const auto steps = [&] {
    return steps_of(recorder.record([&] { service::check(store.service, store.provider); }));
  };
  const std::int64_t usual = steps();
  const OtherProgram other(folder / "store.db");
  for (std::size_t kind = 0; kind < Statistics::kinds; kind += 4) {
    CAPTURE(kind);
    Statistics::store(other.handle(), kind);
    CHECK(steps() <= 2 * usual);
  }
}

}  // namespace
}  // namespace comptroller::store
