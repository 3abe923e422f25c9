// Reward claims (specification 4.5).
#include "store/claims.hpp"

#include "rules/claims.hpp"
#include "service/handling.hpp"

namespace comptroller::service {

namespace {

Claim save(Context& context, const store::Stored<Claim>& before, Claim after) {
  const std::int64_t group = context.connection.symbols().intern(after.payout_group_id.value);
  store::update_claim(context.connection, before.key, after,
                      store::group_facts(context.connection, group).jurisdiction);
  if (const auto confirmed_at = rules::claims_all_at(after)) {
    store::raise_last_claim_all(context.connection, group, *confirmed_at);
  }
  return after;
}

}  // namespace

Claim submit_claim(Context& context, const SubmitClaim& request) {
  const auto stored = require<Claim>(context, request.id.value);
  return save(context, stored, rules::submit_claim(stored.record, request, context.now));
}

Claim confirm_claim(Context& context, const ConfirmClaim& request) {
  const auto stored = require<Claim>(context, request.id.value);
  return save(context, stored, rules::confirm_claim(stored.record, request, context.now));
}

Claim fail_claim(Context& context, const FailClaim& request) {
  const auto stored = require<Claim>(context, request.id.value);
  return save(context, stored, rules::fail_claim(stored.record, request, context.now));
}

}  // namespace comptroller::service
