// The change feed of a client. Two stores that differ only in what other customers loaded, also in
// the same files, answer with equal pages and equal work. Cursors are encrypted places: their
// lengths are equal.
#include <regex>

#include "db/folder.hpp"
#include "store/counted_work.hpp"
#include "store/writing.hpp"

namespace comptroller::store {
namespace {

constexpr int own_claims = 400;

struct Line {
  int number;
  std::string customer;
};

// Stores claims as one batch.
void load(ServiceFixture& fixture, const std::vector<Line>& lines) {
  fixture.service.database()->write([&](db::Connection& connection) {
    Writing writing(connection);
    Changes& changes = writing;
    changes.begin_batch();
    service::Ingestion ingestion(changes, fixture.provider, "default", fixture.now,
                                 fixture.service.environment().make_id);
    for (const Line& line : lines) {
      Claim claim = Store::claim(line.number, line.customer, start);
      claim.payout_group_id = {{id_of(4, line.customer == "globex" ? 2 : 1)}};
      if (line.customer == "default") claim.payout_group_id = {{id_of(4, 3)}};
      if (line.customer == "zenith") claim.payout_group_id = {{id_of(4, 4)}};
      claim.onchain_status = ClaimStatus::pending;
      claim.submitted_at.reset();
      claim.confirmed_at.reset();
      claim.tx_hash.reset();
      ingestion.take(claim);
    }
    ingestion.finish();
    changes.finish_batch({});
  });
}

// Stores that differ in the claims of globex.
struct FeedStores {
  FeedStores() {
    alone = std::make_unique<ServiceFixture>(db::sqlite::open(folder / "alone", {}));
    shared = std::make_unique<ServiceFixture>(db::sqlite::open(folder / "shared", {}));
    for (ServiceFixture* store : {alone.get(), shared.get()}) {
      for (const char* customer : {"default", "acme", "zenith"}) {
        store->put_identity(customer, customer);
      }
      std::vector<Line> lines{{1, "default"}};
      for (int i = 0; i < own_claims; ++i) {
        lines.push_back({1'000 + i, "acme"});
        const int others = store == shared.get() ? i % 5 : 0;
        for (int other = 0; other < others; ++other) {
          lines.push_back({10'000 + i * 5 + other, "globex"});
        }
      }
      lines.push_back({2, "zenith"});
      load(*store, lines);
      if (store == shared.get()) {
        std::vector<Line> many;
        for (int i = 0; i < 6'000; ++i) many.push_back({100'000 + i, "globex"});
        load(*store, many);
      }
      load(*store, {{3'000, "acme"}, {3, "zenith"}});
      store->answer(store->provider, "identities.update", {{"id", "acme"}},
                    R"({"metadata":{"k":"v"}})");
      load(*store, {{4, "zenith"}});
      store->put_identity("zenith-2", "zenith");
    }
  }

  db::Folder folder;
  StatementRecorder recorder;
  std::unique_ptr<ServiceFixture> alone;
  std::unique_ptr<ServiceFixture> shared;
};

struct Page {
  std::string shown;  // with the lengths of the cursors
  std::string next;
  std::size_t changes = 0;
  bool has_more = false;
  std::vector<std::pair<std::string, std::int64_t>> work;
};

Page read(StatementRecorder& recorder, ServiceFixture& store, service::Parameters parameters,
          const std::string& after) {
  if (!after.empty()) parameters.emplace_back("after", after);
  Page page;
  std::string answer;
  for (const RanStatement& statement : recorder.record(
           [&] { answer = store.answer(store.acme, "changes.list", parameters, {}).body; })) {
    page.work.emplace_back(statement.sql, statement.steps);
  }
  const std::regex cursor(R"re("((?:next_)?cursor)":"([^"]*)")re");
  auto at = std::sregex_iterator(answer.begin(), answer.end(), cursor);
  std::size_t end = 0;
  for (; at != std::sregex_iterator(); ++at) {
    page.shown += answer.substr(end, static_cast<std::size_t>(at->position()) - end);
    page.shown += std::to_string(at->str(2).size());
    end = static_cast<std::size_t>(at->position() + at->length());
    if (at->str(1) == "next_cursor") page.next = at->str(2);
    page.changes += at->str(1) == "cursor" ? 1 : 0;
  }
  page.shown += answer.substr(end);
  page.has_more = answer.find(R"("has_more":true)") != std::string::npos;
  return page;
}

TEST_CASE("tenants: the change feed of a client does not depend on what others loaded") {
  FeedStores stores;
  for (const service::Parameters& parameters : {service::Parameters{{"limit", "7"}},
                                                {{"limit", "1000"}},
                                                {{"limit", "3"}, {"resources", "identities"}}}) {
    std::string one;
    std::string other;
    std::size_t changes = 0;
    for (bool has_more = true; has_more;) {
      const Page a = read(stores.recorder, *stores.alone, parameters, one);
      const Page b = read(stores.recorder, *stores.shared, parameters, other);
      CAPTURE(changes);
      REQUIRE(a.shown == b.shown);
      CHECK(a.work == b.work);
      one = a.next;
      other = b.next;
      has_more = a.has_more;
      changes += a.changes;
    }
    const bool has_claims = parameters.size() == 1;
    CHECK(changes == (has_claims ? own_claims + 3 : 2));
  }
}

}  // namespace
}  // namespace comptroller::store
