// Payout groups, reward addresses, their balances, and claims.
#pragma once

#include <optional>

#include "model/addresses.hpp"
#include "model/scalar.hpp"

namespace comptroller {

// Specification 2.3.
struct PayoutGroup {
  static constexpr std::string_view table = "payout_groups", singular = "payout group";
  RECORD(PayoutGroup, "Reward addresses that are paid out together.");
  FIELD(GroupId, id, "identifies the group, a UUID");
  FIELD(Ledger, ledger, "the ledger it is paid on");
  FIELD(std::optional<Term>, asset_type, "the asset it is paid in");
  FIELD(std::optional<Label>, rate_id, "id of the rate that applies, as observed");
  FIELD(std::optional<Term>, jurisdiction, "the country or region whose law applies to it");
  FIELD(std::optional<Label>, claimer_address, "address that claims for the group");
  FIELD(std::optional<Word>, onchain_status, "status as observed; an open set of values");
  FIELD(std::optional<NonNegativeAmount>, balance, "unclaimed balance, in units of asset_type");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<Label>, manager_address, "address that manages the group");
  FIELD(std::optional<Label>, destination_address, "address that receives the payouts");
  FIELD(std::optional<Label>, onchain_group_id, "its id on chain, as observed");
  FIELD(std::optional<Timestamp>, balance_at, "when the balance was observed");
  FIELD(std::optional<Timestamp>, last_claim_all_at,
        "when the latest CLAIM_ALL claim was confirmed");
  FIELD(std::optional<ScheduleType>, schedule_type, "how often it is claimed");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 2.4.
struct RewardAddress {
  static constexpr std::string_view table = "reward_addresses", singular = "reward address";
  RECORD(RewardAddress, "A monitored address whose rewards are attributed to a payout group.");
  FIELD(Uuid, id, "identifies the address, a UUID");
  FIELD(Ledger, ledger, "the ledger of the address");
  FIELD(Label, address, "the monitored address");
  FIELD(std::optional<Name>, name, "name for people, at most 256 characters");
  FIELD(std::optional<GroupId>, payout_group_id, "the group it is attributed to");
  FIELD(std::optional<SnapshotBalance>, balance,
        "its balance at the requested time, in the asset of its group; set by lists with "
        "include_balance");
  FIELD(std::optional<Word>, status, "status as observed; an open set of values");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 2.5.
struct Claim {
  static constexpr std::string_view table = "claims", singular = "claim";
  RECORD(Claim, "A transaction that claims a payout group's rewards.");
  FIELD(Id, id, "identifies the claim");
  FIELD(GroupId, payout_group_id, "the group it claims for");
  FIELD(Word, claim_type, "CLAIM_ALL; later versions may add values");
  FIELD(std::optional<Term>, claim_schedule_id, "the schedule that started it");
  FIELD(ClaimStatus, onchain_status, "status of the transaction");
  FIELD(NonNegativeAmount, amount, "amount claimed, in units of asset_type");
  FIELD(std::optional<TransactionHash>, tx_hash, "hash of the transaction");
  FIELD(std::optional<Addresses>, addresses, "the reward addresses claimed from");
  FIELD(std::optional<Note>, error_message, "why it failed");
  FIELD(std::optional<Term>, blockchain, "the chain it runs on");
  FIELD(std::optional<Term>, asset_type, "the asset claimed");
  FIELD(std::optional<Timestamp>, submitted_at, "when it was sent to the chain");
  FIELD(std::optional<Timestamp>, confirmed_at, "when the chain confirmed it");
  FIELD(Timestamp, created_at, "creation time");
  FIELD(UpdatedAt, updated_at, "time of the last change");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer it belongs to; shown to the operator only");
};

// Specification 4.4.
struct Balance {
  static constexpr std::string_view table = "balances";
  RECORD(Balance, "The balance of a reward address at a time, as the operator recorded it.");
  FIELD(Uuid, address_id, "the reward address");
  FIELD(NonNegativeAmount, balance, "its balance, in units of the asset of its payout group");
  FIELD(Timestamp, at, "time of the balance");
};

}  // namespace comptroller
