// Payout groups and their claims (specification 4.3, 4.5).
#include "rules/attribution.hpp"
#include "rules/claims.hpp"
#include "service/handlers.hpp"
#include "store/claims.hpp"
#include "store/payout_groups.hpp"

namespace comptroller::service {

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

}  // namespace comptroller::service
