#include "service/ingestion.hpp"

#include <algorithm>

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

constexpr std::size_t max_cached_groups = 100'000;

// Stores the result of `action` for a line. An Error about the line is its rejection; a failure of
// the store is thrown.
template <class Action>
void attempt(LineResult& result, const Action& action) {
  try {
    result.outcome = action();
  } catch (const Error& error) {
    if (problem(error.code()).status >= 500) throw;
    result.rejection = std::make_unique<const Error>(error);
  }
}

// The stored record with the id of a line that could not be inserted.
template <Record R>
store::Stored<R> stored_record(db::Connection& connection, const R& line) {
  if (auto stored = store::find<R>(connection, line.id.value)) return *std::move(stored);
  throw Error(Code::internal, "an id is taken, but no record has it");
}

}  // namespace

bool Ingestion::resume(db::Connection& connection, db::Connection& before) {
  store::add_customers_of(connection, before);
  connection_ = connection;
  return !has_forgotten_groups_ && std::ranges::all_of(groups_, [&](const auto& group) {
    return store::group_facts(connection_, group.first) == group.second.facts;
  });
}

template <Record Line>
std::vector<LineResult> Ingestion::take(std::span<Line* const> lines) {
  std::vector<LineResult> results(lines.size());
  if constexpr (requires { take_line(*lines[0]); }) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      attempt(results[i], [&] { return take_line(*lines[i]); });
    }
  } else {
    std::vector<decltype(prepare(*lines[0]))> rows;
    std::vector<std::size_t> places;  // of the rows among the lines
    rows.reserve(lines.size());
    places.reserve(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
      attempt(results[i], [&] {
        rows.push_back(prepare(*lines[i]));
        places.push_back(i);
        return Outcome::inserted;
      });
    }
    const std::vector<db::Insertion> insertions = store::insert_many(connection_, rows);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      LineResult& result = results[places[i]];
      if (insertions[i] == db::Insertion::deferred) {
        result.is_deferred = true;
        continue;
      }
      const bool is_new = insertions[i] == db::Insertion::inserted;
      attempt(result, [&] { return is_new ? inserted(*lines[places[i]]) : merge(rows[i]); });
    }
  }
  return results;
}

template <Record R>
void Ingestion::set_default_customer(R& line) {
  std::string& customer = customer_of(line);
  if (customer.empty()) customer = customer_.value_or(default_customer);
}

template <Record R>
Outcome Ingestion::inserted(const R& line) {
  const std::string_view customer = customer_of(line);
  if (customer != last_customer_) {
    store::ensure_customer(connection_, customer);
    last_customer_ = customer;
  }
  if constexpr (std::same_as<R, Claim>) note(line, &Group::confirmed_at);
  return Outcome::inserted;
}

bool Ingestion::adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line) {
  if (stored.provenance == store::Provenance::own) return false;
  if (stored.record.customer_id != line.customer_id) {
    throw Error(Code::already_exists, "a control of another customer already names this identity");
  }
  const StoredIdentity implied = std::exchange(stored.record, line);
  const bool is_written =
      implied.metadata || implied.updated_at.microseconds != implied.created_at.microseconds;
  if (is_written && line.updated_at < implied.updated_at) {
    // Keeps the changes of a later write than the line.
    if (implied.metadata) stored.record.metadata = implied.metadata;
    stored.record.updated_at = implied.updated_at;
  }
  stored.provenance = store::Provenance::own;
  store::adopt_identity(connection_, stored);
  return true;
}

Outcome Ingestion::take_line(IdentityLine& line) {
  set_default_customer(line);
  const StoredIdentity& identity = line;
  Outcome outcome = Outcome::unchanged;
  auto stored = store::find_identity(connection_, identity.id.value);
  if (!stored) {
    stored.emplace();
    stored->record = identity;
    stored->key = store::insert_identity(connection_, identity);
    outcome = inserted(identity);
  } else if (adopt_implied(*stored, identity)) {
    outcome = Outcome::inserted;
  } else if (const auto merged = rules::merge(stored->record, identity)) {
    stored->record = *merged;
    store::update_identity(connection_, *stored);
    outcome = Outcome::updated;
  }
  if (!line.user_disabled.value_or(false) && !line.admin_disabled.value_or(false)) return outcome;
  const std::vector<Control> made =
      rules::load_legacy_flags(line, identity.id, store::active_controls(connection_, stored->key),
                               principal_, now_, make_id_);
  for (Control control : made) {
    customer_of(control) = identity.customer_id.value;
    store::insert_control(connection_, control, *stored);
  }
  if (!made.empty() && outcome == Outcome::unchanged) outcome = Outcome::updated;
  return outcome;
}

store::StoredIdentityRow Ingestion::insert_implied_identity(const Control& line) {
  StoredIdentity identity;
  identity.id = line.identity_id;
  identity.customer_id.value = customer_of(line);
  identity.created_at = line.created_at;
  identity.updated_at = UpdatedAt{line.created_at};
  const std::int64_t key =
      store::insert_identity(connection_, identity, store::Provenance::implied);
  inserted(identity);
  return {{key, std::move(identity)}, store::Provenance::implied};
}

Outcome Ingestion::take_line(Control& line) {
  auto identity = store::find_identity(connection_, line.identity_id.value);
  if (customer_of(line).empty() && !customer_ && identity) {
    customer_of(line) = identity->record.customer_id.value;
  }
  set_default_customer(line);
  const bool is_identity_known =
      identity && identity->record.customer_id.value == customer_of(line);
  if (is_identity_known && store::insert_new_control(connection_, line, *identity)) {
    return Outcome::inserted;
  }
  if (const auto stored = store::find<Control>(connection_, line.id.value)) {
    const auto merged = rules::merge(stored->record, line);
    if (!merged) return Outcome::unchanged;
    store::update_control(connection_, *merged);
    return Outcome::updated;
  }
  if (!identity) identity = insert_implied_identity(line);
  if (identity->record.customer_id.value != customer_of(line)) {
    throw Error(Code::already_exists, "the identity belongs to another customer");
  }
  if (!line.deleted_at) {
    if (const auto active =
            store::active_control(connection_, identity->key, line.type, line.set_by)) {
      if (!rules::is_legacy_control(*active)) {
        throw Error::conflict("a control of this type and setter is active for the identity",
                              active->id.value);
      }
      store::remove_control(connection_, active->id);
    }
  }
  store::insert_control(connection_, line, *identity);
  return Outcome::inserted;
}

const Orchestration* Ingestion::prepare(Orchestration& line) {
  set_default_customer(line);
  return &line;
}

Outcome Ingestion::merge(const Orchestration* line) {
  const auto stored = stored_record(connection_, *line);
  const auto merged = rules::merge(stored.record, *line);
  if (!merged) return Outcome::unchanged;
  store::update_orchestration(connection_, stored.key, *merged);
  return Outcome::updated;
}

Outcome Ingestion::take_line(PayoutGroup& line) {
  set_default_customer(line);
  rules::complete(line);
  const auto stored = store::find<PayoutGroup>(connection_, line.id.value);
  if (!stored) {
    store::insert_payout_group(connection_, line);
    return inserted(line);
  }
  // A line written before its claims were confirmed then equals the stored group.
  store::raise_to_claims(connection_, line);
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Outcome::unchanged;
  store::update_payout_group(connection_, *stored, *merged);
  return Outcome::updated;
}

Outcome Ingestion::take_line(RewardAddress& line) {
  set_default_customer(line);
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
      throw Error::conflict("the address is already registered", taken->record.id.value);
    }
    store::insert(connection_, line);
    return inserted(line);
  }
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Outcome::unchanged;
  store::update(connection_, stored->key, *merged);
  return Outcome::updated;
}

Ingestion::Group& Ingestion::group(const GroupId& id) {
  const std::int64_t symbol = connection_.get().symbols().intern(id.value);
  const auto known = groups_.find(symbol);
  if (known != groups_.end()) return known->second;
  if (groups_.size() >= max_cached_groups) {
    finish();
    has_forgotten_groups_ = true;
  }
  return groups_.emplace(symbol, Group{store::group_facts(connection_, symbol), {}, {}})
      .first->second;
}

void Ingestion::check_customer(const store::GroupFacts& group, std::string_view customer) {
  if (!group.is_known || group.customer == connection_.get().symbols().find(customer)) return;
  throw Error(Code::already_exists, "the payout group belongs to another customer");
}

void Ingestion::note(const Claim& claim, std::optional<Timestamp> Group::* latest) {
  const auto at = rules::claim_all_confirmed_at(claim);
  if (!at) return;
  std::optional<Timestamp>& time = group(claim.payout_group_id).*latest;
  time = std::max(time, at);
}

store::NewClaim Ingestion::prepare(Claim& line) {
  set_default_customer(line);
  const store::GroupFacts& facts = group(line.payout_group_id).facts;
  check_customer(facts, customer_of(line));
  return {&line, facts.jurisdiction};
}

Outcome Ingestion::merge(const store::NewClaim& line) {
  const auto stored = stored_record(connection_, *line.claim);
  const auto merged = rules::merge(stored.record, *line.claim);
  if (!merged) return Outcome::unchanged;
  store::update_claim(connection_, stored.key, *merged, line.jurisdiction);
  if (stored.record.payout_group_id != merged->payout_group_id ||
      rules::claim_all_confirmed_at(*merged) < rules::claim_all_confirmed_at(stored.record)) {
    note(stored.record, &Group::withdrawn_at);
  }
  note(*merged, &Group::confirmed_at);
  return Outcome::updated;
}

Outcome Ingestion::take_line(const Balance& line) {
  if (!store::find<RewardAddress>(connection_, line.address_id.value)) {
    throw Error::field(Code::not_found, "address_id", "there is no reward address with this id");
  }
  if (const auto stored = store::find_balance(connection_, line.address_id, line.at)) {
    rules::merge(*stored, line);
    return Outcome::unchanged;
  }
  store::insert(connection_, line);
  return Outcome::inserted;
}

void Ingestion::finish() {
  for (const auto& [symbol, group] : groups_) {
    if (group.confirmed_at) {
      store::raise_last_claim_all(connection_, symbol, *group.confirmed_at);
    }
    if (group.withdrawn_at) store::withdraw_claim_all(connection_, symbol, *group.withdrawn_at);
  }
  groups_.clear();
}

template std::vector<LineResult> Ingestion::take(std::span<IdentityLine* const>);
template std::vector<LineResult> Ingestion::take(std::span<Control* const>);
template std::vector<LineResult> Ingestion::take(std::span<Orchestration* const>);
template std::vector<LineResult> Ingestion::take(std::span<PayoutGroup* const>);
template std::vector<LineResult> Ingestion::take(std::span<RewardAddress* const>);
template std::vector<LineResult> Ingestion::take(std::span<Claim* const>);
template std::vector<LineResult> Ingestion::take(std::span<Balance* const>);

}  // namespace comptroller::service
