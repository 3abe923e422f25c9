// What a loaded line does to the store: it adds a record, brings one forward, changes nothing, or
// is refused. Used by loads, a line at a time, and by the operations that put one record.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>

#include "rules/controls.hpp"
#include "store/identities.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::service {

enum class Arrival : std::uint8_t { inserted, updated, unchanged };

// The arrivals of one write transaction. Whatever `take` refuses it refuses before it writes, so a
// transaction can go on after a refusal.
class Arrivals {
 public:
  // `customer` is that of lines that name none, else `default`; a control's is that of its
  // identity.
  Arrivals(db::Connection& connection, const Principal& principal,
           std::optional<std::string> customer, Timestamp now, rules::MakeId make_id);

  // A line is completed where it is, with its customer for one.
  Arrival take(IdentityLine& line);
  Arrival take(Control& line);
  Arrival take(Orchestration& line);
  Arrival take(PayoutGroup& line);
  Arrival take(RewardAddress& line);
  Arrival take(Claim& line);
  Arrival take(const Balance& line);

  // Writes what was gathered for the end of the transaction; before it commits.
  void finish();

 private:
  struct Group {
    store::GroupFacts facts;
    std::optional<Timestamp> confirmed_at;  // the latest of a CLAIM_ALL that arrived
    std::optional<Timestamp> withdrawn_at;  // the latest that a line corrected
  };

  template <Record R>
  void complete(R& line);
  // Says so, and makes the customer of the line if need be.
  template <Record R>
  Arrival inserted(const R& line);
  store::Stored<StoredIdentity> identity_of(const Control& line);
  Group& group(const GroupId& id);
  void check_customer(const store::GroupFacts& group, std::string_view customer);
  void note_confirmation(const Claim& claim);
  void note_correction(const Claim& before, const Claim& after);
  bool adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line);

  db::Connection& connection_;
  const Principal& principal_;
  std::optional<std::string> customer_;
  Timestamp now_;
  rules::MakeId make_id_;
  std::unordered_map<std::int64_t, Group> groups_;  // by the symbol of the id
  std::string last_customer_;                       // is known to be there
};

}  // namespace comptroller::service
