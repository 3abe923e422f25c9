#include "rules/loads.hpp"

#include <algorithm>

#include "model/error.hpp"
#include "rules/claims.hpp"

namespace comptroller::rules {

namespace {

Error differs(const std::string& what) {
  return {Code::already_exists, "a record with this id is already stored, " + what};
}

// The customer and created_at of a record never change.
template <class R>
void check_origin(const R& stored, const R& line) {
  if (customer_of(stored) != customer_of(line)) {
    throw differs("for another customer");
  }
  if (stored.created_at != line.created_at) {
    throw differs("with created_at " + to_string(stored.created_at));
  }
}

template <class R>
std::optional<R> merge_by_time(const R& stored, const R& line) {
  check_origin(stored, line);
  if (same_content(stored, line)) return std::nullopt;
  if (line.updated_at <= stored.updated_at) {
    throw differs("with other content and updated_at " + to_string(stored.updated_at) +
                  "; only a later updated_at changes it");
  }
  return line;
}

}  // namespace

std::optional<StoredIdentity> merge(const StoredIdentity& stored, const StoredIdentity& line) {
  return merge_by_time(stored, line);
}

std::optional<Orchestration> merge(const Orchestration& stored, const Orchestration& line) {
  return merge_by_time(stored, line);
}

std::optional<PayoutGroup> merge(const PayoutGroup& stored, PayoutGroup line) {
  if (stored.updated_at < line.updated_at) return merge_by_time(stored, line);
  // A claim raises last_claim_all_at without changing updated_at, so the later value is kept.
  PayoutGroup raised = stored;
  raised.last_claim_all_at = std::max(stored.last_claim_all_at, line.last_claim_all_at);
  line.last_claim_all_at = raised.last_claim_all_at;
  merge_by_time(raised, line);
  if (stored.last_claim_all_at == raised.last_claim_all_at) return std::nullopt;
  return raised;
}

std::optional<Claim> merge(const Claim& stored, const Claim& line) {
  check_origin(stored, line);
  if (!is_loadable_transition(stored.onchain_status, line.onchain_status)) {
    throw Error(Code::illegal_transition,
                "the claim is " + std::string(enum_text(stored.onchain_status)) +
                    " and cannot become " + std::string(enum_text(line.onchain_status)));
  }
  return merge_by_time(stored, line);
}

std::optional<Control> merge(const Control& stored, const Control& line) {
  check_origin(stored, line);
  if (same_content(stored, line)) return std::nullopt;
  Control lifted = stored;
  lifted.deleted_at = line.deleted_at;
  lifted.deleted_by = line.deleted_by;
  lifted.deletion_reason = line.deletion_reason;
  if (stored.deleted_at || !line.deleted_at || !same_content(lifted, line)) {
    throw differs("with other content; a stored control changes only once, when it is deleted");
  }
  return lifted;
}

std::optional<RewardAddress> merge(const RewardAddress& stored, const RewardAddress& line) {
  check_origin(stored, line);
  if (stored.ledger != line.ledger || stored.address != line.address) {
    throw differs("with the address " + stored.address.value + " on " +
                  std::string(enum_text(stored.ledger)));
  }
  RewardAddress merged = stored;
  if (line.name) merged.name = line.name;
  if (line.status) merged.status = line.status;
  if (line.payout_group_id) merged.payout_group_id = line.payout_group_id;
  if (same_content(stored, merged)) return std::nullopt;
  return merged;
}

std::optional<Balance> merge(const Balance& stored, const Balance& line) {
  if (same_content(stored, line)) return std::nullopt;
  throw Error(Code::already_exists,
              "a balance of " + stored.balance.text + " is already stored for this time");
}

}  // namespace comptroller::rules
