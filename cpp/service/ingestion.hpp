// Stores loaded lines: each line inserts a record, updates it, changes nothing, or is rejected.
// Loads and the operations that put one record use it.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "model/error.hpp"
#include "rules/controls.hpp"
#include "store/claims.hpp"
#include "store/group_facts.hpp"
#include "store/identities.hpp"
#include "store/orchestrations.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::service {

enum class Outcome : std::uint8_t { inserted, updated, unchanged };

struct LineResult {
  Outcome outcome = Outcome::unchanged;
  std::unique_ptr<const Error> rejection;  // set instead of an outcome
  bool is_deferred = false;                // neither: take the line again after its table is filled
};

// A line to store, and the hash of its content (store::content_hash) if it is known.
template <Record Line>
struct NewLine {
  Line* record = nullptr;
  const journal::Hash* content = nullptr;
};

// Sets the customer of a line without one: `customer`, or `default`.
template <Record R>
void set_default_customer(R& line, const std::optional<std::string>& customer) {
  std::string& own = customer_of(line);
  if (own.empty()) own = customer.value_or(default_customer);
}

// Takes the lines of one kind inside one write transaction. A line is rejected before anything is
// written for it, so the transaction can continue. Failures of the store are thrown. For one
// thread.
class Ingestion {
 public:
  // `customer` is the customer of lines without a customer_id; default: `default`. A control has
  // the customer of its identity.
  Ingestion(store::Changes& changes, const Principal& principal,
            std::optional<std::string> customer, Timestamp now, rules::MakeId make_id)
      : changes_(changes),
        principal_(principal),
        customer_(std::move(customer)),
        now_(now),
        make_id_(std::move(make_id)) {}

  // Continues on a connection to a later state of the database than `before`, which has got the
  // rows that were inserted there (db::Fill). Returns false if the lines that were taken would have
  // other results in that state; nothing may then be kept.
  bool resume(db::Connection& connection, db::Connection& before);

  // Takes lines; the results are the same as if the lines were taken one by one. Sets the customer
  // of a line without one. Lines are deferred only while their table is being filled.
  template <Record Line>
  std::vector<LineResult> take(const std::vector<NewLine<Line>>& lines);
  // Takes one line; throws its rejection.
  template <Record Line>
  Outcome take(Line& line) {
    const std::vector<LineResult> results = take(std::vector{NewLine<Line>{&line}});
    if (results.front().rejection) throw Error(*results.front().rejection);
    return results.front().outcome;
  }

  // Writes the changes of groups that are collected until the end of the transaction. Call it
  // before the commit.
  void finish();

 private:
  struct Group {
    store::GroupFacts facts;
    std::optional<Timestamp> confirmed_at;  // the latest of the inserted CLAIM_ALL claims
    std::optional<Timestamp> withdrawn_at;  // the latest that a line replaced
  };

  // Claims and orchestrations are inserted in batches: `prepare` validates a line.
  store::NewClaim prepare(const NewLine<Claim>& line);
  store::NewOrchestration prepare(const NewLine<Orchestration>& line);
  // Merges a line into its stored record, which is replaced.
  Outcome merge(const store::NewClaim& line, store::Stored<Claim>& stored);
  Outcome merge(const store::NewOrchestration& line, store::Stored<Orchestration>& stored);
  // Reads, and locks in order, what the lines need, if each would be a round trip.
  template <Record Line>
  void read_ahead(const std::vector<NewLine<Line>>& lines);
  // Lines of other kinds are taken one by one, because a line may read what the previous line
  // wrote.
  Outcome take_line(IdentityLine& line);
  Outcome take_line(Control& line);
  Outcome take_line(PayoutGroup& line);
  Outcome take_line(RewardAddress& line);
  Outcome take_line(const Balance& line);

  // Creates the customer of an inserted line if it is new.
  template <Record R>
  Outcome inserted(const R& line);
  store::StoredIdentityRow insert_implied_identity(const Control& line);
  Group& group(const GroupId& id);
  void check_customer(const store::GroupFacts& group, std::string_view customer);
  // If the claim is a confirmed CLAIM_ALL claim, raises `latest` of its group to its confirmed_at.
  void note(const Claim& claim, std::optional<Timestamp> Group::* latest);
  bool adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line);

  store::Changes& changes_;
  const Principal& principal_;
  std::optional<std::string> customer_;
  Timestamp now_;
  rules::MakeId make_id_;
  std::unordered_map<std::int64_t, Group> groups_;  // by the symbol of the id
  bool has_forgotten_groups_ = false;
  std::unordered_set<std::string, db::TextHash, std::equal_to<>> customers_;  // these exist
};

}  // namespace comptroller::service
