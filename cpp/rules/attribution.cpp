#include "rules/attribution.hpp"

#include "model/error.hpp"
#include "model/ledger_address.hpp"
#include "rules/changes.hpp"

namespace comptroller::rules {

namespace {

constexpr const char* unregistered = "UNREGISTERED";
constexpr const char* pending = "PENDING";

void canonicalise(Ledger ledger, std::string_view field, Label& address) {
  std::optional<std::string> canonical = canonical_address(ledger, address.value);
  if (!canonical) {
    throw Error::invalid(field, refused_text(address_expectation(ledger), address.value));
  }
  address.value = *std::move(canonical);
}

void canonicalise(Ledger ledger, std::string_view field, std::optional<Label>& address) {
  if (address) canonicalise(ledger, field, *address);
}

}  // namespace

void complete(PayoutGroup& group) {
  if (!group.manager_address) group.manager_address = group.claimer_address;
  if (!group.destination_address) group.destination_address = group.claimer_address;
  canonicalise(group.ledger, "claimer_address", group.claimer_address);
  canonicalise(group.ledger, "manager_address", group.manager_address);
  canonicalise(group.ledger, "destination_address", group.destination_address);
  if (!group.onchain_status) group.onchain_status = Word{unregistered};
  if (!group.balance) group.balance = NonNegativeAmount{"0"};
}

void complete(RewardAddress& address) {
  canonicalise(address.ledger, "address", address.address);
  if (!address.status) address.status = Word{address.payout_group_id ? pending : unregistered};
}

PayoutGroup create_group(const CreatePayoutGroup& request, Timestamp now, std::string id) {
  PayoutGroup group;
  group.id.value = std::move(id);
  set_given(group, request);
  group.created_at = now;
  group.updated_at = UpdatedAt{now};
  complete(group);
  return group;
}

PayoutGroup update_group(PayoutGroup group, const UpdatePayoutGroup& request, Timestamp now) {
  if (set_given(group, request)) group.updated_at = changed_at(now, group.updated_at);
  return group;
}

PayoutGroup observe_group(PayoutGroup group, const ObservePayoutGroup& request, Timestamp now) {
  if (request.balance) group.balance_at = now;  // set_given replaces it if the request names a time
  if (set_given(group, request)) group.updated_at = changed_at(now, group.updated_at);
  return group;
}

RewardAddress create_address(const CreateRewardAddress& request, Timestamp now, std::string id) {
  RewardAddress address;
  address.id.value = std::move(id);
  set_given(address, request);
  address.created_at = now;
  complete(address);
  return address;
}

RewardAddress update_address(RewardAddress address, const UpdateRewardAddress& request) {
  const std::optional<GroupId> before = address.payout_group_id;
  set_given(address, request);
  if (address.payout_group_id != before) address.status = Word{pending};
  return address;
}

void check_attribution(const RewardAddress& address, const PayoutGroup& group) {
  if (address.ledger == group.ledger) return;
  throw Error::field(Code::ledger_mismatch, "payout_group_id",
                     "the group is on " + std::string(enum_text(group.ledger)) +
                         ", the address on " + std::string(enum_text(address.ledger)));
}

}  // namespace comptroller::rules
