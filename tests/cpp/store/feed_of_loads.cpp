// The change feed of the operator over loads.
#include "db/folder.hpp"
#include "store/counted_work.hpp"
#include "store/writing.hpp"

namespace comptroller::store {
namespace {

// Stores a claim, and changes it so many times, in one load.
void load_changes(ServiceFixture& fixture, int changes) {
  fixture.service.database()->write([&](db::Connection& connection) {
    Writing writing(connection);
    Changes& all = writing;
    all.begin_batch();
    service::Ingestion ingestion(all, fixture.provider, "default", fixture.now,
                                 fixture.service.environment().make_id);
    Claim claim = Store::claim(0, "acme", start);
    for (int change = 0; change <= changes; ++change) {
      claim.amount.text = std::to_string(change + 1);
      claim.updated_at.microseconds += 1;
      ingestion.take(claim);
    }
    ingestion.finish();
    all.finish_batch({});
  });
}

TEST_CASE("the feed of a load takes as much work per change for any number of changes") {
  const db::Folder folder;
  StatementRecorder recorder;
  std::vector<std::int64_t> steps_per_change;
  for (const int changes : {100, 1'000}) {
    ServiceFixture store(db::sqlite::open(folder / std::to_string(changes), {}));
    load_changes(store, changes);
    std::string answer;
    const auto statements = recorder.record([&] {
      answer = store.answer(store.provider, "changes.list", {{"resources", "claims"}}, {}).body;
    });
    CHECK(answer.find(R"("has_more":false)") != std::string::npos);
    CHECK(answer.find(R"("amount":")" + std::to_string(changes + 1) + '"') != std::string::npos);
    steps_per_change.push_back(steps_of(statements) / changes);
  }
  check_growth({steps_per_change.front()}, {steps_per_change.back()});
}

}  // namespace
}  // namespace comptroller::store
