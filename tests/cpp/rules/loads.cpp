#include "rules/loads.hpp"

#include <doctest/doctest.h>

#include "rules/changes.hpp"
#include "rules/vectors.hpp"

namespace comptroller::rules {
namespace {

template <class R>
R stored_record() {
  R record{};
  customer_of(record) = "acme";
  record.created_at = earlier_moment;
  if constexpr (requires { record.updated_at; }) record.updated_at = UpdatedAt{instant};
  return record;
}

// Changes the content of a line by one member that its kind has.
void change(StoredIdentity& line) {
  line.ref_id = Label{"other"};
}
void change(Orchestration& line) {
  line.status = Word{"FAILED"};
}
void change(PayoutGroup& line) {
  line.name = Name{"other"};
}
void change(Claim& line) {
  line.error_message = Note{"other"};
}

TEST_CASE_TEMPLATE("a line changes a record only with a later updated_at", R, StoredIdentity,
                   Orchestration, PayoutGroup, Claim) {
  const R stored = stored_record<R>();
  CHECK_FALSE(merge(stored, stored).has_value());
  R line = stored;
  change(line);
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
  line.updated_at = UpdatedAt{earlier_moment};
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
  line.updated_at = UpdatedAt{later_moment};
  const std::optional<R> merged = merge(stored, line);
  REQUIRE(merged.has_value());
  CHECK(same_content(*merged, line));
}

TEST_CASE_TEMPLATE("the customer and created_at of a record never change", R, StoredIdentity,
                   Orchestration, PayoutGroup, Claim, Control, RewardAddress) {
  const R stored = stored_record<R>();
  R line = stored;
  if constexpr (requires { line.updated_at; }) line.updated_at = UpdatedAt{later_moment};
  R foreign = line;
  customer_of(foreign) = "other";
  CHECK(code_of([&] { merge(stored, foreign); }) == "already-exists");
  R younger = line;
  younger.created_at = instant;
  CHECK(code_of([&] { merge(stored, younger); }) == "already-exists");
}

TEST_CASE("of two groups with the same updated_at, the later last_claim_all_at is kept") {
  const auto stored = stored_record<PayoutGroup>();
  PayoutGroup raised = stored;
  raised.last_claim_all_at = instant;
  const auto merged = merge(stored, raised);
  REQUIRE(merged.has_value());
  CHECK(same_content(*merged, raised));
  CHECK_FALSE(merge(raised, stored).has_value());

  PayoutGroup renamed = raised;
  change(renamed);
  CHECK(code_of([&] { merge(stored, renamed); }) == "already-exists");
  PayoutGroup newer = stored;
  newer.updated_at = UpdatedAt{later_moment};
  CHECK(merge(raised, newer).value().last_claim_all_at == std::nullopt);
}

TEST_CASE("updated_at of a change is later than before, within the range of times") {
  CHECK(changed_at(later_moment, UpdatedAt{instant}) == UpdatedAt{later_moment});
  CHECK(changed_at(instant, UpdatedAt{instant}) == UpdatedAt{{instant.microseconds + 1}});
  CHECK(changed_at(instant, UpdatedAt{later_moment}) == UpdatedAt{{later_moment.microseconds + 1}});
  CHECK(changed_at(instant, UpdatedAt{latest_timestamp}) == UpdatedAt{latest_timestamp});
}

TEST_CASE("a stored control changes once, when it is deleted") {
  const Control stored = stored_record<Control>();
  CHECK_FALSE(merge(stored, stored).has_value());

  Control lifted = stored;
  lifted.deleted_at = instant;
  lifted.deleted_by = Label{"operator"};
  lifted.deletion_reason = Note{"over"};
  const auto merged = merge(stored, lifted);
  REQUIRE(merged.has_value());
  CHECK(same_content(*merged, lifted));
  CHECK_FALSE(merge(lifted, lifted).has_value());

  Control other = stored;
  other.reason = Note{"other"};
  CHECK(code_of([&] { merge(stored, other); }) == "already-exists");
  other.deleted_at = instant;
  CHECK(code_of([&] { merge(stored, other); }) == "already-exists");
  Control later = lifted;
  later.deleted_at = later_moment;
  CHECK(code_of([&] { merge(lifted, later); }) == "already-exists");
  CHECK(code_of([&] { merge(lifted, stored); }) == "already-exists");
}

TEST_CASE("a line of a stored control can only delete it") {
  const Control stored = stored_record<Control>();
  Control line = stored;
  line.deletion_reason = Note{"not deleted at all"};
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
  line = stored;
  line.deleted_by = Label{"operator"};
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
}

TEST_CASE("a line changes only name, status and group of an address") {
  RewardAddress stored = stored_record<RewardAddress>();
  stored.ledger = Ledger::ethereum;
  stored.address = Label{"0x1"};
  stored.name = Name{"Mine"};
  stored.status = Word{"ACTIVE"};
  stored.payout_group_id = GroupId{{"g1"}};
  CHECK_FALSE(merge(stored, stored).has_value());

  RewardAddress line = stored;
  line.name.reset();
  line.status.reset();
  line.payout_group_id.reset();
  CHECK_FALSE(merge(stored, line).has_value());

  line.name = Name{"Yours"};
  CHECK(merge(stored, line)->name == Name{"Yours"});
  CHECK(merge(stored, line)->status == stored.status);
  line = stored;
  line.status = Word{"GONE"};
  CHECK(merge(stored, line)->status == Word{"GONE"});
  line = stored;
  line.payout_group_id = GroupId{{"g2"}};
  CHECK(merge(stored, line)->payout_group_id == line.payout_group_id);
  CHECK(merge(stored, line)->name == stored.name);

  line = stored;
  line.ledger = Ledger::ink;
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
  line = stored;
  line.address = Label{"0x2"};
  CHECK(code_of([&] { merge(stored, line); }) == "already-exists");
}

TEST_CASE("a balance at one time has one value") {
  const Balance stored{{"a1"}, {"1.5"}, instant};
  CHECK_FALSE(merge(stored, Balance{{"a1"}, {"1.50"}, instant}).has_value());
  CHECK(code_of([&] { merge(stored, Balance{{"a1"}, {"1.6"}, instant}); }) == "already-exists");
}

}  // namespace
}  // namespace comptroller::rules
