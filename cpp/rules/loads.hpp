// Merging a loaded line into the stored record of the same id: no change, an update, or an Error. A
// stored record is never overwritten by an older line, nor by a different one of the same age.
// Pure.
#pragma once

#include "rules/content.hpp"

namespace comptroller::rules {

// The record to store in place of `stored`; nothing if the content is equal. All throw
// already_exists; that of claims throws illegal_transition for a forbidden transition.
std::optional<StoredIdentity> merge(const StoredIdentity& stored, const StoredIdentity& line);
std::optional<Orchestration> merge(const Orchestration& stored, const Orchestration& line);
// With equal updated_at the later last_claim_all_at is taken, since claims raise it.
std::optional<PayoutGroup> merge(const PayoutGroup& stored, PayoutGroup line);
std::optional<Claim> merge(const Claim& stored, const Claim& line);
// A control may gain deleted_at, with deleted_by and deletion_reason, once.
std::optional<Control> merge(const Control& stored, const Control& line);
// Takes those of name, status and payout_group_id that the line has.
std::optional<RewardAddress> merge(const RewardAddress& stored, const RewardAddress& line);
std::optional<Balance> merge(const Balance& stored, const Balance& line);

}  // namespace comptroller::rules
