// Payout groups, their claims, reward addresses and their balances (specification 4.3 to 4.5).
#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "service/handlers.hpp"
#include "store/claims.hpp"
#include "store/payout_groups.hpp"
#include "store/reward_addresses.hpp"

namespace comptroller::service {

namespace {

// Throws unless the group exists, belongs to the customer of the address and is on its ledger.
void check_group(Context& context, const RewardAddress& address, const GroupId& named) {
  const std::string& id = named.value;
  const auto group = require<PayoutGroup>(context, id);
  if (customer_of(group.record) != customer_of(address)) throw not_found("payout group", id);
  rules::check_attribution(address, group.record);
}

}  // namespace

PayoutGroup save(Context& context, const store::Stored<PayoutGroup>& before, PayoutGroup after) {
  if (!store::update_payout_group(context.connection, before, after)) context.background.start();
  return after;
}

PayoutGroup create_payout_group(Context& context, const CreatePayoutGroup& request) {
  PayoutGroup group = rules::create_group(request, context.now, context.environment.make_id());
  customer_of(group) = written_customer(context.principal, request.customer_id);
  store::ensure_customer(context.connection, customer_of(group));
  store::insert_payout_group(context.connection, group);
  return group;
}

PayoutGroup observe_payout_group(Context& context, const ObservePayoutGroup& request) {
  const auto stored = require<PayoutGroup>(context, request.id.value);
  PayoutGroup group = rules::observe_group(stored.record, request, context.now);
  if (request.last_claim_all_at) store::raise_to_claims(context.connection, group);
  return save(context, stored, std::move(group));
}

Claim save(Context& context, const store::Stored<Claim>& before, Claim after) {
  const std::int64_t group = context.connection.symbols().intern(after.payout_group_id.value);
  store::update_claim(context.connection, before.key, after,
                      store::group_facts(context.connection, group).jurisdiction);
  if (const auto confirmed_at = rules::claims_all_at(after)) {
    store::raise_last_claim_all(context.connection, group, *confirmed_at);
  }
  return after;
}

RewardAddress create_reward_address(Context& context, const CreateRewardAddress& request) {
  RewardAddress address =
      rules::create_address(request, context.now, context.environment.make_id());
  customer_of(address) = written_customer(context.principal, request.customer_id);
  if (request.payout_group_id) check_group(context, address, *request.payout_group_id);
  if (const auto taken =
          store::find_address(context.connection, address.ledger, address.address.value)) {
    constexpr const char* detail = "the address is already registered on this ledger";
    if (!can_see(context.principal, customer_of(taken->record))) {
      throw Error(Code::already_exists, detail);
    }
    throw Error::conflict(detail, taken->record.id.value);
  }
  store::ensure_customer(context.connection, customer_of(address));
  store::insert(context.connection, address);
  return address;
}

RewardAddress update_reward_address(Context& context, const UpdateRewardAddress& request) {
  const auto stored = require<RewardAddress>(context, request.id.value);
  RewardAddress address = rules::update_address(stored.record, request);
  if (request.payout_group_id) check_group(context, address, *request.payout_group_id);
  store::update(context.connection, stored.key, address);
  return address;
}

RewardAddress observe_reward_address(Context& context, const ObserveRewardAddress& request) {
  auto stored = require<RewardAddress>(context, request.id.value);
  stored.record.status = request.status;
  store::update(context.connection, stored.key, stored.record);
  return stored.record;
}

Balance record_balance(Context& context, const Balance& request) {
  ingest(context, request);
  // If an equal balance is stored, its text is kept and returned.
  return store::find_balance(context.connection, request.address_id, request.at).value_or(request);
}

}  // namespace comptroller::service
