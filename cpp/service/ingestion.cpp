#include "service/ingestion.hpp"

#include <algorithm>
#include <set>

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
constexpr std::size_t max_cached_customers = 10'000;

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

// The stored records with the ids of lines that could not be inserted.
template <Record R>
class TakenRecords {
 public:
  TakenRecords(db::Connection& connection, const std::vector<const R*>& lines)
      : connection_(connection) {
    if (!connection.dialect().is_remote) return;
    std::vector<std::string_view> ids;
    ids.reserve(lines.size());
    for (const R* line : lines) ids.push_back(line->id.value);
    records_ = store::find_many<R>(connection, ids);
  }

  // Returns the record of a line, as the last line with its id left it.
  store::Stored<R>& of(const R& line) {
    if (!connection_.dialect().is_remote) {
      if (auto stored = store::find<R>(connection_, line.id.value)) {
        return last_.emplace(*std::move(stored));
      }
    } else if (const auto found = records_.find(line.id.value); found != records_.end()) {
      return found->second;
    }
    throw Error(Code::internal, "an id is taken, but no record has it");
  }

 private:
  db::Connection& connection_;
  std::unordered_map<std::string, store::Stored<R>> records_;  // if each would be a round trip
  std::optional<store::Stored<R>> last_;
};

const Claim& record_of(const store::NewClaim& line) {
  return *line.claim;
}
const Orchestration& record_of(const store::NewOrchestration& line) {
  return *line.orchestration;
}

}  // namespace

bool Ingestion::resume(db::Connection& connection, db::Connection& before) {
  store::add_customers_of(connection, before);
  changes_.move_to(connection);
  return !changes_.has_appended() && !has_forgotten_groups_ &&
         std::ranges::all_of(groups_, [&](const auto& group) {
           return store::group_facts(connection, group.first) == group.second.facts;
         });
}

template <Record Line>
std::vector<LineResult> Ingestion::take(const std::vector<NewLine<Line>>& lines) {
  std::vector<LineResult> results(lines.size());
  if constexpr (requires { take_line(*lines[0].record); }) {
    for (std::size_t i = 0; i < lines.size(); ++i) {
      attempt(results[i], [&] { return take_line(*lines[i].record); });
    }
  } else {
    std::vector<decltype(prepare(lines[0]))> rows;
    std::vector<std::size_t> places;  // of the rows among the lines
    rows.reserve(lines.size());
    places.reserve(lines.size());
    read_ahead(lines);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      attempt(results[i], [&] {
        rows.push_back(prepare(lines[i]));
        places.push_back(i);
        return Outcome::inserted;
      });
    }
    const std::vector<db::Insertion> insertions = store::insert_many(changes_, rows);
    std::vector<const Line*> taken;
    for (std::size_t i = 0; i < rows.size(); ++i) {
      if (insertions[i] == db::Insertion::taken) taken.push_back(&record_of(rows[i]));
    }
    TakenRecords<Line> stored(changes_.connection(), taken);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      LineResult& result = results[places[i]];
      if (insertions[i] == db::Insertion::deferred) {
        result.is_deferred = true;
        continue;
      }
      const bool is_new = insertions[i] == db::Insertion::inserted;
      attempt(result, [&] {
        const Line& line = record_of(rows[i]);
        return is_new ? inserted(line) : merge(rows[i], stored.of(line));
      });
    }
  }
  return results;
}

template <Record Line>
void Ingestion::read_ahead(const std::vector<NewLine<Line>>& lines) {
  db::Connection& connection = changes_.connection();
  if (!connection.dialect().is_remote || lines.size() < 2) return;
  std::vector<const Line*> records;
  records.reserve(lines.size());
  for (const NewLine<Line>& line : lines) records.push_back(line.record);
  store::intern_symbols<Line>(connection, records);
  if constexpr (std::same_as<Line, Claim>) {
    std::set<std::int64_t> symbols;
    for (const Claim* claim : records) {
      const std::int64_t symbol = connection.symbols().intern(claim->payout_group_id.value);
      if (!groups_.contains(symbol)) symbols.insert(symbol);
    }
    if (groups_.size() + symbols.size() > max_cached_groups) return;
    std::vector<db::Value> values;
    values.reserve(symbols.size());
    for (const std::int64_t symbol : symbols) values.push_back(db::Value::of(symbol));
    for (auto& [symbol, facts] : store::group_facts(connection, values)) {
      groups_.emplace(symbol, Group{facts, {}, {}});
    }
  }
}

template <Record R>
Outcome Ingestion::inserted(const R& line) {
  const std::string_view customer = customer_of(line);
  if (!customers_.contains(customer)) {
    if (customers_.size() >= max_cached_customers) customers_.clear();
    store::ensure_customer(changes_.connection(), customer);
    customers_.emplace(customer);
  }
  if constexpr (std::same_as<R, Claim>) note(line, &Group::confirmed_at);
  return Outcome::inserted;
}

bool Ingestion::adopt_implied(store::StoredIdentityRow& stored, const StoredIdentity& line) {
  if (stored.provenance == store::Provenance::own) return false;
  if (stored.record.customer_id != line.customer_id) {
    throw Error(Code::already_exists, "a control of another customer already names this identity");
  }
  const store::StoredIdentityRow before = stored;
  const StoredIdentity& implied = before.record;
  stored.record = line;
  const bool is_written =
      implied.metadata || implied.updated_at.microseconds != implied.created_at.microseconds;
  if (is_written && line.updated_at < implied.updated_at) {
    // Keeps the changes of a later write than the line.
    if (implied.metadata) stored.record.metadata = implied.metadata;
    stored.record.updated_at = implied.updated_at;
  }
  stored.provenance = store::Provenance::own;
  store::adopt_identity(changes_, before, stored);
  return true;
}

Outcome Ingestion::take_line(IdentityLine& line) {
  set_default_customer(line, customer_);
  const StoredIdentity& identity = line;
  Outcome outcome = Outcome::unchanged;
  auto stored = store::find_identity(changes_.connection(), identity.id.value);
  if (!stored) {
    stored.emplace();
    stored->record = identity;
    stored->key = store::insert_identity(changes_, identity);
    outcome = inserted(identity);
  } else if (adopt_implied(*stored, identity)) {
    outcome = Outcome::inserted;
  } else if (const auto merged = rules::merge(stored->record, identity)) {
    const store::StoredIdentityRow before = *stored;
    stored->record = *merged;
    store::update_identity(changes_, before, *stored);
    outcome = Outcome::updated;
  }
  if (!line.user_disabled.value_or(false) && !line.admin_disabled.value_or(false)) return outcome;
  const std::vector<Control> made = rules::load_legacy_flags(
      line, identity.id, store::active_controls(changes_.connection(), stored->key), principal_,
      now_, make_id_);
  for (Control control : made) {
    customer_of(control) = identity.customer_id.value;
    store::insert_control(changes_, control, *stored);
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
  const std::int64_t key = store::insert_identity(changes_, identity, store::Provenance::implied);
  inserted(identity);
  return {{key, std::move(identity)}, store::Provenance::implied};
}

Outcome Ingestion::take_line(Control& line) {
  auto identity = store::find_identity(changes_.connection(), line.identity_id.value);
  if (customer_of(line).empty() && !customer_ && identity) {
    customer_of(line) = identity->record.customer_id.value;
  }
  set_default_customer(line, customer_);
  const bool is_identity_known =
      identity && identity->record.customer_id.value == customer_of(line);
  if (is_identity_known && store::insert_new_control(changes_, line, *identity)) {
    return Outcome::inserted;
  }
  if (const auto stored = store::find<Control>(changes_.connection(), line.id.value)) {
    const auto merged = rules::merge(stored->record, line);
    if (!merged) return Outcome::unchanged;
    store::update_control(changes_, *stored, *merged);
    return Outcome::updated;
  }
  if (!identity) identity = insert_implied_identity(line);
  if (identity->record.customer_id.value != customer_of(line)) {
    throw Error(Code::already_exists, "the identity belongs to another customer");
  }
  if (!line.deleted_at) {
    if (const auto active =
            store::active_control(changes_.connection(), identity->key, line.type, line.set_by)) {
      if (!rules::is_legacy_control(*active)) {
        throw Error::conflict("a control of this type and setter is active for the identity",
                              active->id.value);
      }
      store::exchange_control(changes_, active->id, line, *identity);
      return Outcome::inserted;
    }
  }
  store::insert_control(changes_, line, *identity);
  return Outcome::inserted;
}

store::NewOrchestration Ingestion::prepare(const NewLine<Orchestration>& line) {
  set_default_customer(*line.record, customer_);
  return {line.record, line.content};
}

Outcome Ingestion::merge(const store::NewOrchestration& line,
                         store::Stored<Orchestration>& stored) {
  auto merged = rules::merge(stored.record, *line.orchestration);
  if (!merged) return Outcome::unchanged;
  store::update_orchestration(changes_, stored, *merged);
  stored.record = *std::move(merged);
  return Outcome::updated;
}

Outcome Ingestion::take_line(PayoutGroup& line) {
  set_default_customer(line, customer_);
  rules::complete(line);
  const auto stored = store::find<PayoutGroup>(changes_.connection(), line.id.value);
  if (!stored) {
    store::insert_payout_group(changes_, line);
    return inserted(line);
  }
  // A line written before its claims were confirmed then equals the stored group.
  store::raise_to_claims(changes_.connection(), line);
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Outcome::unchanged;
  store::update_payout_group(changes_, *stored, *merged);
  return Outcome::updated;
}

Outcome Ingestion::take_line(RewardAddress& line) {
  set_default_customer(line, customer_);
  const auto stored = store::find<RewardAddress>(changes_.connection(), line.id.value);
  const bool has_status = line.status.has_value();
  rules::complete(line);
  if (stored && !has_status &&
      (!line.payout_group_id || line.payout_group_id == stored->record.payout_group_id)) {
    line.status = stored->record.status;
  }
  if (line.payout_group_id) {
    check_customer(group(*line.payout_group_id).facts, customer_of(line));
    if (const auto named = store::find<PayoutGroup, store::LockFor::reference>(
            changes_.connection(), line.payout_group_id->value)) {
      rules::check_attribution(line, named->record);
    }
  }
  if (!stored) {
    if (const auto taken =
            store::find_address(changes_.connection(), line.ledger, line.address.value)) {
      throw Error::conflict("the address is already registered", taken->record.id.value);
    }
    store::insert(changes_, line);
    return inserted(line);
  }
  const auto merged = rules::merge(stored->record, line);
  if (!merged) return Outcome::unchanged;
  store::update(changes_, *stored, *merged);
  return Outcome::updated;
}

Ingestion::Group& Ingestion::group(const GroupId& id) {
  const std::int64_t symbol = changes_.connection().symbols().intern(id.value);
  const auto known = groups_.find(symbol);
  if (known != groups_.end()) return known->second;
  if (groups_.size() >= max_cached_groups) {
    finish();
    has_forgotten_groups_ = true;
  }
  return groups_.emplace(symbol, Group{store::group_facts(changes_.connection(), symbol), {}, {}})
      .first->second;
}

void Ingestion::check_customer(const store::GroupFacts& group, std::string_view customer) {
  if (!group.is_known || group.customer == changes_.connection().symbols().find(customer)) return;
  throw Error(Code::already_exists, "the payout group belongs to another customer");
}

void Ingestion::note(const Claim& claim, std::optional<Timestamp> Group::* latest) {
  const auto at = rules::claim_all_confirmed_at(claim);
  if (!at) return;
  std::optional<Timestamp>& time = group(claim.payout_group_id).*latest;
  time = std::max(time, at);
}

store::NewClaim Ingestion::prepare(const NewLine<Claim>& line) {
  Claim& claim = *line.record;
  set_default_customer(claim, customer_);
  const store::GroupFacts& facts = group(claim.payout_group_id).facts;
  check_customer(facts, customer_of(claim));
  return {&claim, facts.jurisdiction, line.content};
}

Outcome Ingestion::merge(const store::NewClaim& line, store::Stored<Claim>& stored) {
  auto merged = rules::merge(stored.record, *line.claim);
  if (!merged) return Outcome::unchanged;
  store::update_claim(changes_, stored, *merged, line.jurisdiction);
  if (stored.record.payout_group_id != merged->payout_group_id ||
      rules::claim_all_confirmed_at(*merged) < rules::claim_all_confirmed_at(stored.record)) {
    note(stored.record, &Group::withdrawn_at);
  }
  note(*merged, &Group::confirmed_at);
  stored.record = *std::move(merged);
  return Outcome::updated;
}

Outcome Ingestion::take_line(const Balance& line) {
  if (!store::find<RewardAddress>(changes_.connection(), line.address_id.value)) {
    throw Error::field(Code::not_found, "address_id", "there is no reward address with this id");
  }
  if (const auto stored = store::find_balance(changes_.connection(), line.address_id, line.at)) {
    rules::merge(*stored, line);
    return Outcome::unchanged;
  }
  store::insert(changes_, line);
  return Outcome::inserted;
}

void Ingestion::finish() {
  for (const auto& [symbol, group] : groups_) {
    if (group.confirmed_at) {
      store::raise_last_claim_all(changes_, symbol, *group.confirmed_at);
    }
    if (group.withdrawn_at)
      store::withdraw_claim_all(changes_.connection(), symbol, *group.withdrawn_at);
  }
  groups_.clear();
}

template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<IdentityLine>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<Control>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<Orchestration>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<PayoutGroup>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<RewardAddress>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<Claim>>&);
template std::vector<LineResult> Ingestion::take(const std::vector<NewLine<Balance>>&);

}  // namespace comptroller::service
