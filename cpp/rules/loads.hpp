// Merging a loaded line into the stored record with the same id: the result is no change, an
// update, or an Error. An older line, or a different line of the same age, never overwrites a
// stored record. Pure.
#pragma once

#include "model/records.hpp"
#include "rules/content.hpp"

namespace comptroller::rules {

// Each returns the record to store in place of `stored`, or nullopt if the content is equal. Each
// throws already_exists; the function for claims throws illegal_transition for a forbidden
// transition.
std::optional<StoredIdentity> merge(const StoredIdentity& stored, const StoredIdentity& line);
std::optional<Orchestration> merge(const Orchestration& stored, const Orchestration& line);
// If updated_at is equal, the later last_claim_all_at is kept, because claims raise it.
std::optional<PayoutGroup> merge(const PayoutGroup& stored, PayoutGroup line);
std::optional<Claim> merge(const Claim& stored, const Claim& line);
// A control can gain deleted_at, with deleted_by and deletion_reason, once.
std::optional<Control> merge(const Control& stored, const Control& line);
// Only name, status and payout_group_id change, and only those that the line has.
std::optional<RewardAddress> merge(const RewardAddress& stored, const RewardAddress& line);
std::optional<Balance> merge(const Balance& stored, const Balance& line);

}  // namespace comptroller::rules
