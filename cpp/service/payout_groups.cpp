// Payout groups (specification 4.3).
#include "store/payout_groups.hpp"

#include "rules/attribution.hpp"
#include "service/handling.hpp"

namespace comptroller::service {

namespace {

PayoutGroup save(Context& context, const store::Stored<PayoutGroup>& before, PayoutGroup after) {
  if (!store::update_payout_group(context.connection, before, after)) context.background.start();
  return after;
}

}  // namespace

PayoutGroup create_payout_group(Context& context, const CreatePayoutGroup& request) {
  PayoutGroup group = rules::create_group(request, context.now, context.environment.make_id());
  customer_of(group) = written_customer(context.principal, request.customer_id);
  store::ensure_customer(context.connection, customer_of(group));
  store::insert_payout_group(context.connection, group);
  return group;
}

PayoutGroup update_payout_group(Context& context, const UpdatePayoutGroup& request) {
  const auto stored = require<PayoutGroup>(context, request.id.value);
  return save(context, stored, rules::update_group(stored.record, request, context.now));
}

PayoutGroup observe_payout_group(Context& context, const ObservePayoutGroup& request) {
  const auto stored = require<PayoutGroup>(context, request.id.value);
  PayoutGroup group = rules::observe_group(stored.record, request, context.now);
  if (request.last_claim_all_at) store::raise_to_claims(context.connection, group);
  return save(context, stored, std::move(group));
}

}  // namespace comptroller::service
