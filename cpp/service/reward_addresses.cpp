// Reward addresses and their balances (specification 4.4).
#include "store/reward_addresses.hpp"

#include "rules/attribution.hpp"
#include "service/handlers.hpp"

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
