#include "service/arrivals.hpp"

#include "model/error.hpp"
#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "rules/loads.hpp"
#include "store/claims.hpp"
#include "store/customers.hpp"
#include "store/orchestrations.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::service {

namespace {

constexpr std::size_t most_groups_remembered = 100'000;

// The record whose id a new one could not take.
template <Record R>
store::Stored<R> stored_already(db::Connection& connection, std::string_view id) {
  if (auto stored = store::find<R>(connection, id)) return *std::move(stored);
  throw Error(Code::internal, "an id is taken and not there");
}

}  // namespace

Arrivals::Arrivals(db::Connection& connection, const Principal& principal,
                   std::optional<std::string> customer, Timestamp now, rules::MakeId make_id)
    : connection_(connection),
      principal_(principal),
      customer_(std::move(customer)),
      now_(now),
      make_id_(std::move(make_id)) {}

template <Record R>
void Arrivals::complete(R& line) {
  std::string& customer = customer_of(line);
  if (customer.empty()) customer = customer_.value_or(default_customer);
}

template <Record R>
Arrival Arrivals::inserted(const R& line) {
  const std::string_view customer = customer_of(line);
  if (customer != last_customer_) {
    store::ensure_customer(connection_, customer);
    last_customer_ = customer;
  }
  return Arrival::inserted;
}

bool Arrivals::adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line) {
  if (stored.provenance == store::Provenance::own) return false;
  if (stored.record.customer_id != line.customer_id) {
    throw Error(Code::already_exists, "a control of another customer names this identity already");
  }
  const StoredIdentity implied = std::exchange(stored.record, line);
  const bool is_written =
      implied.metadata || implied.updated_at.microseconds != implied.created_at.microseconds;
  if (is_written && line.updated_at < implied.updated_at) {
    // An older line does not undo a write.
    if (implied.metadata) stored.record.metadata = implied.metadata;
    stored.record.updated_at = implied.updated_at;
  }
  stored.provenance = store::Provenance::own;
  store::adopt_identity(connection_, stored);
  return true;
}

Arrival Arrivals::take(IdentityLine& line) {
  complete(line);
  const StoredIdentity& identity = line;
  Arrival outcome = Arrival::unchanged;
  auto stored = store::find_identity(connection_, identity.id.value);
  if (!stored) {
    stored.emplace();
    stored->record = identity;
    stored->key = store::insert_identity(connection_, identity);
    outcome = inserted(identity);
  } else if (adopt_implied(*stored, identity)) {
    outcome = Arrival::inserted;
  } else if (const auto merged = rules::merge(stored->record, identity)) {
    stored->record = *merged;
    store::update_identity(connection_, *stored);
    outcome = Arrival::updated;
  }
  const std::vector<Control> made = rules::load_legacy_flags(
      {line.user_disabled, line.admin_disabled}, identity.id,
      store::active_controls(connection_, stored->key), principal_, now_, make_id_);
  for (Control control : made) {
    customer_of(control) = identity.customer_id.value;
    store::insert_control(connection_, control, *stored);
  }
  if (!made.empty() && outcome == Arrival::unchanged) outcome = Arrival::updated;
  return outcome;
}

store::Stored<StoredIdentity> Arrivals::identity_of(const Control& line) {
  if (const auto stored = store::find_identity(connection_, line.identity_id.value)) {
    if (stored->record.customer_id.value != customer_of(line)) {
      throw Error(Code::already_exists, "the identity belongs to another customer");
    }
    return {stored->key, stored->record};
  }
  StoredIdentity identity;
  identity.id = line.identity_id;
  identity.customer_id.value = customer_of(line);
  identity.created_at = line.created_at;
  identity.updated_at = UpdatedAt{line.created_at};
  const std::int64_t key =
      store::insert_identity(connection_, identity, store::Provenance::implied);
  inserted(identity);
  return {key, std::move(identity)};
}

Arrival Arrivals::take(Control& line) {
  if (customer_of(line).empty() && !customer_) {
    const auto identity = store::find_identity(connection_, line.identity_id.value);
    if (identity) customer_of(line) = identity->record.customer_id.value;
  }
  complete(line);
  if (const auto stored = store::find<Control>(connection_, line.id.value)) {
    const auto merged = rules::merge(stored->record, line);
    if (!merged) return Arrival::unchanged;
    store::update_control(connection_, *merged);
    return Arrival::updated;
  }
  const store::Stored<StoredIdentity> identity = identity_of(line);
  if (!line.deleted_at.value) {
    if (const auto active =
            store::active_control(connection_, identity.key, line.type, line.set_by)) {
      if (!rules::is_legacy_control(*active)) {
        throw Error::conflict("a control of this type and setter is active for the identity",
                              active->id.value);
      }
      store::remove_control(connection_, active->id);
    }
  }
  store::insert_control(connection_, line, identity);
  return Arrival::inserted;
}

Arrival Arrivals::take(Orchestration& line) {
  complete(line);
  if (store::insert_orchestration(connection_, line)) return inserted(line);
  const auto stored = stored_already<Orchestration>(connection_, line.id.value);
  const auto merged = rules::merge(stored.record, line);
  if (!merged) return Arrival::unchanged;
  store::update_orchestration(connection_, stored.key, *merged);
  return Arrival::updated;
}

Arrival Arrivals::take(PayoutGroup& line) {
  complete(line);
  rules::complete(line);
  const auto stored = store::find<PayoutGroup>(connection_, line.id.value);
  if (!stored) {
    store::insert_payout_group(connection_, line);
    return inserted(line);
  }
  // A line from before its claims were confirmed says the same as the store.
  store::raise_to_claims(connection_, line);
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Arrival::unchanged;
  store::update_payout_group(connection_, *stored, *merged);
  return Arrival::updated;
}

Arrival Arrivals::take(RewardAddress& line) {
  complete(line);
  const auto stored = store::find<RewardAddress>(connection_, line.id.value);
  const bool has_status = line.status.has_value();
  rules::complete(line);
  if (stored && !has_status &&
      (!line.payout_group_id || line.payout_group_id == stored->record.payout_group_id)) {
    line.status = stored->record.status;
  }
  if (line.payout_group_id) {
    check_customer(group(*line.payout_group_id).facts, customer_of(line));
    if (const auto named = store::find<PayoutGroup>(connection_, line.payout_group_id->value)) {
      rules::check_attribution(line, named->record);
    }
  }
  if (!stored) {
    if (const auto taken = store::find_address(connection_, line.ledger, line.address.value)) {
      throw Error::conflict("the address is registered already", taken->record.id.value);
    }
    store::insert(connection_, line);
    return inserted(line);
  }
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Arrival::unchanged;
  store::update(connection_, stored->key, *merged);
  return Arrival::updated;
}

Arrivals::Group& Arrivals::group(const GroupId& id) {
  const std::int64_t symbol = connection_.symbols().intern(id.value);
  const auto known = groups_.find(symbol);
  if (known != groups_.end()) return known->second;
  if (groups_.size() >= most_groups_remembered) finish();
  return groups_.emplace(symbol, Group{store::group_facts(connection_, symbol), {}, {}})
      .first->second;
}

void Arrivals::check_customer(const store::GroupFacts& group, std::string_view customer) {
  if (!group.is_known || group.customer == connection_.symbols().find(customer)) return;
  throw Error(Code::already_exists, "the payout group belongs to another customer");
}

void Arrivals::note_confirmation(const Claim& claim) {
  const auto confirmed_at = rules::claims_all_at(claim);
  if (!confirmed_at) return;
  std::optional<Timestamp>& latest = group(claim.payout_group_id).confirmed_at;
  latest = std::max(latest, confirmed_at);
}

void Arrivals::note_correction(const Claim& before, const Claim& after) {
  const auto confirmed_at = rules::claims_all_at(before);
  if (!confirmed_at) return;
  if (before.payout_group_id == after.payout_group_id &&
      confirmed_at <= rules::claims_all_at(after)) {
    return;
  }
  std::optional<Timestamp>& latest = group(before.payout_group_id).withdrawn_at;
  latest = std::max(latest, confirmed_at);
}

Arrival Arrivals::take(Claim& line) {
  complete(line);
  const store::GroupFacts facts = group(line.payout_group_id).facts;
  check_customer(facts, customer_of(line));
  if (store::insert_claim(connection_, line, facts.jurisdiction)) {
    note_confirmation(line);
    return inserted(line);
  }
  const auto stored = stored_already<Claim>(connection_, line.id.value);
  const auto merged = rules::merge(stored.record, line);
  if (!merged) return Arrival::unchanged;
  store::update_claim(connection_, stored.key, *merged, facts.jurisdiction);
  note_correction(stored.record, *merged);
  note_confirmation(*merged);
  return Arrival::updated;
}

Arrival Arrivals::take(const Balance& line) {
  if (!store::find<RewardAddress>(connection_, line.address_id.value)) {
    throw Error::field(Code::not_found, "address_id", "no such reward address");
  }
  if (const auto stored = store::find_balance(connection_, line.address_id, line.at)) {
    rules::merge(*stored, line);
    return Arrival::unchanged;
  }
  store::insert(connection_, line);
  return Arrival::inserted;
}

void Arrivals::finish() {
  for (const auto& [symbol, group] : groups_) {
    if (group.confirmed_at) {
      store::raise_last_claim_all(connection_, symbol, *group.confirmed_at);
    }
    if (group.withdrawn_at) store::withdraw_claim_all(connection_, symbol, *group.withdrawn_at);
  }
  groups_.clear();
}

}  // namespace comptroller::service
