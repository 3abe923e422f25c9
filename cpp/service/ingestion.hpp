// What loaded lines do to the store: each inserts a record, updates it, changes nothing, or is
// rejected. Used by loads and by the operations that put one record.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "model/error.hpp"
#include "rules/controls.hpp"
#include "store/claims.hpp"
#include "store/identities.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::service {

enum class Outcome : std::uint8_t { inserted, updated, unchanged };

struct LineResult {
  Outcome outcome = Outcome::unchanged;
  std::unique_ptr<const Error> rejection;  // instead of an outcome
  bool is_deferred = false;  // neither: take the line again after the filling of its table
};

// Takes the lines of one kind inside one write transaction. A line is rejected before anything of
// it is written, so the transaction can continue. Failures of the store are thrown.
class Ingestion {
 public:
  // `customer` is the one of lines that name none, by default `default`; a control has the customer
  // of its identity.
  Ingestion(db::Connection& connection, const Principal& principal,
            std::optional<std::string> customer, Timestamp now, rules::MakeId make_id)
      : connection_(connection),
        principal_(principal),
        customer_(std::move(customer)),
        now_(now),
        make_id_(std::move(make_id)) {}

  // Takes lines and gives the result that each has if they are taken one by one. A line without a
  // customer gets it. Only during the filling of their table are lines deferred.
  template <Record Line>
  std::vector<LineResult> take(std::span<Line* const> lines);
  // Takes one line; throws what it is rejected with.
  template <Record Line>
  Outcome take(Line& line) {
    Line* const lines[] = {&line};
    const std::vector<LineResult> results = take(std::span<Line* const>(lines));
    if (results.front().rejection) throw Error(*results.front().rejection);
    return results.front().outcome;
  }

  // Writes what is gathered until the end of the transaction; call it before the commit.
  void finish();

 private:
  struct Group {
    store::GroupFacts facts;
    std::optional<Timestamp> confirmed_at;  // the latest of a CLAIM_ALL that arrived
    std::optional<Timestamp> withdrawn_at;  // the latest that a line corrected
  };

  // Claims and orchestrations are inserted together: `prepare` rejects a line by itself, `merge`
  // takes one whose id is taken.
  store::NewClaim prepare(Claim& line);
  const Orchestration* prepare(Orchestration& line);
  Outcome merge(const store::NewClaim& line);
  Outcome merge(const Orchestration* line);
  // The other kinds line by line: one may read what the line before it wrote.
  Outcome take_line(IdentityLine& line);
  Outcome take_line(Control& line);
  Outcome take_line(PayoutGroup& line);
  Outcome take_line(RewardAddress& line);
  Outcome take_line(const Balance& line);

  template <Record R>
  void set_default_customer(R& line);
  // Makes the customer of an inserted line if it is new.
  template <Record R>
  Outcome inserted(const R& line);
  store::StoredIdentityRow insert_implied_identity(const Control& line);
  Group& group(const GroupId& id);
  void check_customer(const store::GroupFacts& group, std::string_view customer);
  // Raises `latest` of the claim's group to the confirmation of the claim, if it claims all.
  void note(const Claim& claim, std::optional<Timestamp> Group::* latest);
  bool adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line);

  db::Connection& connection_;
  const Principal& principal_;
  std::optional<std::string> customer_;
  Timestamp now_;
  rules::MakeId make_id_;
  std::unordered_map<std::int64_t, Group> groups_;  // by the symbol of the id
  std::string last_customer_;                       // is known to exist
};

}  // namespace comptroller::service
