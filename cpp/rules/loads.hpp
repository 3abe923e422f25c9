// What a loaded line does to the record of the same id: nothing, an update, or a refusal; what is
// stored is never overwritten by something older or different. Pure.
#pragma once

#include "rules/content.hpp"

namespace comptroller::rules {

// The record to store in place of `stored`; nothing when the line says the same. All refuse with
// already_exists, claims a forbidden move with illegal_transition.
std::optional<StoredIdentity> merge(const StoredIdentity& stored, const StoredIdentity& line);
std::optional<Orchestration> merge(const Orchestration& stored, const Orchestration& line);
// Of two with one updated_at the later last_claim_all_at stands, which claims alone raise.
std::optional<PayoutGroup> merge(const PayoutGroup& stored, PayoutGroup line);
std::optional<Claim> merge(const Claim& stored, const Claim& line);
// May once gain deleted_at, with deleted_by and deletion_reason.
std::optional<Control> merge(const Control& stored, const Control& line);
// Takes name, status and payout_group_id from the line, where it has them.
std::optional<RewardAddress> merge(const RewardAddress& stored, const RewardAddress& line);
std::optional<Balance> merge(const Balance& stored, const Balance& line);

}  // namespace comptroller::rules
