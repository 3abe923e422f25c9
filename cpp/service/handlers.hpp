// What operations do, once their caller may do it and their request is read. Those that get,
// list or put records as they are kept are in handling.hpp.
#pragma once

#include "model/requests.hpp"
#include "service/service.hpp"

namespace comptroller::service {

// Everything a handler works with. Reads see one moment; writes are in a transaction.
struct Context {
  db::Connection& connection;
  const Principal& principal;
  const Environment& environment;
  const Secret& secret;
  BackgroundWork& background;
  std::string_view operation;
  Timestamp now;
};

// A list's answer as JSON: {"items": [...], "next_page_cursor": "..."}, the items being R.
template <Record R>
struct PageOf {
  std::string json;
};

Identity get_identity(Context& context, const ById& request);
PageOf<Identity> list_identities(Context& context, const ListIdentities& request);
Identity update_identity(Context& context, const UpdateIdentity& request);
Identity put_identity(Context& context, const PutIdentity& request);
Permission permits(Context& context, const PermitsAction& request);

Control create_control(Context& context, const CreateControl& request);
Control delete_control(Context& context, const DeleteControl& request);

PayoutGroup create_payout_group(Context& context, const CreatePayoutGroup& request);
PayoutGroup update_payout_group(Context& context, const UpdatePayoutGroup& request);
PayoutGroup observe_payout_group(Context& context, const ObservePayoutGroup& request);

PageOf<RewardAddress> list_reward_addresses(Context& context, const ListRewardAddresses& request);
RewardAddress create_reward_address(Context& context, const CreateRewardAddress& request);
RewardAddress update_reward_address(Context& context, const UpdateRewardAddress& request);
RewardAddress observe_reward_address(Context& context, const ObserveRewardAddress& request);

PageOf<Balance> list_balances(Context& context, const ListBalances& request);
Balance record_balance(Context& context, const Balance& request);

Claim submit_claim(Context& context, const SubmitClaim& request);
Claim confirm_claim(Context& context, const ConfirmClaim& request);
Claim fail_claim(Context& context, const FailClaim& request);

}  // namespace comptroller::service
