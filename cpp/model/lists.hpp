// Requests of lists: filters, paging and time bounds, each filter with the index that serves it,
// and `Listed`, the listed record.
#pragma once

#include <optional>
#include <vector>

#include "model/filters.hpp"
#include "model/records.hpp"
#include "model/request_traits.hpp"

namespace comptroller {

// Page size, direction of created_at, and the page to continue from.
struct Paging {
  RECORD(Paging);
  FIELD(std::optional<PageLimit>, limit, "items on a page, 1 to 1000", Default<100>);
  FIELD(std::optional<Order>, order, "order by creation time", Default<Order::desc>);
  FIELD(std::optional<PageCursor>, page_cursor,
        "next_page_cursor of the previous page; the filters must be the same");
};

// The customer of listed records, and the index of a list without another filter.
struct ListedOwner {
  static constexpr Index by_time{"customer_id, created_at"};
  RECORD(ListedOwner);
  FIELD(std::optional<Id>, customer_id,
        "only records of this customer; a client may only name its own customer", OwnCustomer);
};

struct CreatedAtBounds {
  RECORD(CreatedAtBounds);
  FIELD(std::optional<Timestamp>, lt, "only records created before this time",
        Named<"created_at.lt">, Created<Bound::before>);
  FIELD(std::optional<Timestamp>, lte, "only records created at or before this time",
        Named<"created_at.lte">, Created<Bound::until>);
  FIELD(std::optional<Timestamp>, eq, "only records created at this time", Named<"created_at.eq">,
        Created<Bound::at>);
  FIELD(std::optional<Timestamp>, gte, "only records created at or after this time",
        Named<"created_at.gte">, Created<Bound::from>);
  FIELD(std::optional<Timestamp>, gt, "only records created after this time",
        Named<"created_at.gt">, Created<Bound::after>);
};

inline constexpr Index by_id{"id"};

struct ListIdentities : ListedOwner, CreatedAtBounds, Paging {
  using Listed = StoredIdentity;
  static constexpr Index by_control_type{
      .columns = "customer_id, type, identity_created_at, identity_key",
      .where = "deleted_at IS NULL",
      .table = "controls",
      .time = "identity_created_at",
      .key = "identity_key",
      .by_key = "identity_key, type, set_by"};
  static constexpr Index by_reason_code{
      .columns = "customer_id, reason_code, identity_created_at, identity_key",
      .where = "deleted_at IS NULL",
      .table = "controls",
      .time = "identity_created_at",
      .key = "identity_key",
      .by_key = by_control_type.by_key};

  RECORD(ListIdentities);
  FIELD(std::vector<ControlType>, control_types,
        "only identities with an active control of one of these types",
        Equals<"type", ControlType, by_control_type>);
  FIELD(std::vector<Word>, control_reason_codes,
        "only identities with an active control of one of these reason codes",
        Equals<"reason_code", Word, by_reason_code>);
  FIELD(std::optional<Label>, ref_id, "only identities with this reference id",
        Equals<"ref_id", Label, sparse_of_customer<"ref_id">>);
  FIELDS_OF(ListedOwner, CreatedAtBounds, Paging);
};

struct ListControls : ListedOwner, CreatedAtBounds, Paging {
  using Listed = Control;
  // Every index contains this expression, so that a list of active controls skips deleted controls.
  static constexpr std::string_view is_active = "(deleted_at IS NULL)";
  static constexpr Index by_time = of_customer<"(deleted_at IS NULL)">;
  static constexpr Index by_identity{"identity_key, (deleted_at IS NULL), created_at"};

  RECORD(ListControls);
  FIELD(std::optional<Id>, identity_id, "only controls of this identity",
        Equals<"identity_key", KeyOf<StoredIdentity>, by_identity>);
  FIELD(std::optional<bool>, include_deleted, "whether to include deleted controls", NextColumn,
        Default<false>);
  FIELD(std::optional<Timestamp>, active_at, "only controls active at this time", Unindexed);
  FIELD(std::vector<ControlType>, type, "only controls of one of these types",
        Equals<"type", ControlType, of_customer<"type, (deleted_at IS NULL)">>);
  FIELD(std::vector<SetBy>, set_by, "only controls set by one of these setters",
        Equals<"set_by", SetBy, of_customer<"set_by, (deleted_at IS NULL)">>);
  FIELD(std::vector<Word>, reason_code, "only controls with one of these reason codes",
        Equals<"reason_code", Word, of_customer<"reason_code, (deleted_at IS NULL)">>);
  FIELDS_OF(ListedOwner, CreatedAtBounds, Paging);
};

struct ListOrchestrations : ListedOwner, CreatedAtBounds, Paging {
  using Listed = Orchestration;
  RECORD(ListOrchestrations);
  FIELD(std::vector<Id>, orchestration_rule_id,
        "only orchestrations initiated by one of these rules",
        Equals<"orchestration_rule_id", Id, sparse_of_customer<"orchestration_rule_id">>);
  FIELD(std::vector<Label>, source_asset, "only orchestrations with one of these source assets",
        Equals<"source_asset", Term>);
  FIELD(std::vector<Label>, destination_asset,
        "only orchestrations with one of these destination assets",
        Equals<"destination_asset", Term>);
  FIELD(std::vector<Word>, status, "only orchestrations with one of these statuses",
        Equals<"status", Word>);
  FIELD(std::vector<Id>, orchestration_id, "only orchestrations with one of these ids",
        Equals<"id", Id, by_id>);
  FIELD(std::vector<Id>, profile_id,
        "only orchestrations that belong, or move value, to one of these profiles",
        AnyOf<Equals<"profile_id", Id, sparse_of_customer<"profile_id">>,
              Equals<"destination_profile_id", Id, sparse_of_customer<"destination_profile_id">>>);
  FIELD(std::vector<Label>, ref_id, "only orchestrations with one of these reference ids",
        Equals<"ref_id", Label, sparse_of_customer<"ref_id">>);
  FIELDS_OF(ListedOwner, CreatedAtBounds, Paging);
};

struct ListPayoutGroups : ListedOwner, Paging {
  using Listed = PayoutGroup;
  RECORD(ListPayoutGroups);
  FIELD(std::optional<Uuid>, id, "only the group with this id", IsGroup<"id", by_id>);
  FIELD(std::optional<Ledger>, ledger, "only groups on this ledger", Equals<"ledger", Ledger>);
  FIELD(std::optional<Label>, asset_type, "only groups paid in this asset",
        Equals<"asset_type", Term>);
  FIELD(std::optional<Label>, jurisdiction, "only groups in this jurisdiction",
        Equals<"jurisdiction", Term>);
  FIELD(std::optional<Label>, claimer_address,
        "only groups with this claimer_address; case matters on SOLANA only",
        Equals<"claimer_address", Label>, LedgerAddress);
  FIELD(std::vector<Word>, onchain_status, "only groups with one of these statuses",
        Equals<"onchain_status", Word>);
  FIELD(std::optional<Name>, name_prefix,
        "only groups whose name begins with this text; case matters", BeginsWith<"name">);
  FIELDS_OF(ListedOwner, Paging);
};

struct ListRewardAddresses : ListedOwner, Paging {
  using Listed = RewardAddress;
  static constexpr Index by_address{"ledger, address"};
  static constexpr Index by_group{"payout_group_id, created_at", "payout_group_id IS NOT NULL"};

  RECORD(ListRewardAddresses);
  FIELD(std::optional<Ledger>, ledger, "only addresses on this ledger", Equals<"ledger", Ledger>);
  FIELD(std::optional<Label>, address, "only this address; case matters on SOLANA only",
        Equals<"address", Label, by_address>, LedgerAddress);
  FIELD(std::optional<Uuid>, id, "only the address with this id", Equals<"id", Uuid, by_id>);
  FIELD(std::optional<GroupId>, payout_group_id, "only addresses attributed to this payout group",
        IsGroup<"payout_group_id", by_group>);
  FIELD(std::optional<bool>, include_balance, "whether to show the balance of each address",
        Default<false>);
  FIELD(std::optional<Timestamp>, balance_timestamp, "time of the balances; default now");
  FIELDS_OF(ListedOwner, Paging);
};

struct ListBalances : Paging {
  using Listed = Balance;
  static constexpr Index by_time{.columns = "at", .time = "at"};
  static constexpr Index by_address{.columns = "address_id, at", .time = "at"};

  RECORD(ListBalances);
  FIELD(std::optional<Uuid>, address_id, "only balances of this reward address",
        Equals<"address_id", Uuid, by_address>);
  FIELDS_OF(Paging);
};

struct UpdatedAtBounds {
  RECORD(UpdatedAtBounds);
  FIELD(std::optional<Timestamp>, lt, "only records last changed before this time",
        Named<"updated_at.lt">, Compares<"updated_at", Timestamp, Bound::before>);
  FIELD(std::optional<Timestamp>, lte, "only records last changed at or before this time",
        Named<"updated_at.lte">, Compares<"updated_at", Timestamp, Bound::until>);
  FIELD(std::optional<Timestamp>, eq, "only records last changed at this time",
        Named<"updated_at.eq">, Compares<"updated_at", Timestamp, Bound::at>);
  FIELD(std::optional<Timestamp>, gte, "only records last changed at or after this time",
        Named<"updated_at.gte">, Compares<"updated_at", Timestamp, Bound::from>);
  FIELD(std::optional<Timestamp>, gt, "only records last changed after this time",
        Named<"updated_at.gt">, Compares<"updated_at", Timestamp, Bound::after>);
};

struct ListClaims : ListedOwner, UpdatedAtBounds, Paging {
  using Listed = Claim;
  // Three indexes contain the status, so that claims of a rare status are found among many rows.
  static constexpr Index by_group{"payout_group_id, onchain_status, created_at"};
  static constexpr Index by_jurisdiction = of_customer<"jurisdiction, onchain_status">;

  RECORD(ListClaims);
  FIELD(std::optional<GroupId>, payout_group_id, "only claims of this payout group",
        IsGroup<"payout_group_id", by_group>);
  FIELD(std::vector<ClaimStatus>, statuses, "only claims with one of these statuses",
        Equals<"onchain_status", ClaimStatus>);
  FIELD(std::optional<Label>, chain, "only claims on this blockchain",
        Equals<"blockchain", Term, of_customer<"blockchain, onchain_status">>);
  FIELD(std::optional<Label>, jurisdiction,
        "only claims whose payout group is now in this jurisdiction",
        Equals<"jurisdiction", Term, by_jurisdiction>);
  FIELD(std::optional<Timestamp>, start_time, "only claims created at or after this time",
        Created<Bound::from>);
  FIELD(std::optional<Timestamp>, end_time, "only claims created at or before this time",
        Created<Bound::until>);
  FIELD(std::optional<Id>, id, "only the claim with this id", Equals<"id", Id, by_id>);
  FIELD(std::optional<TransactionHash>, tx_hash,
        "only claims with this hash of the transaction; case matters",
        Compares<"tx_hash", TransactionHash>);
  FIELD(std::optional<Label>, address,
        "only claims from this reward address; case matters unless it is an EVM address",
        Unindexed);
  FIELD(std::optional<Label>, asset_type, "only claims of this asset",
        Compares<"asset_type", Term>);
  FIELD(std::optional<Label>, claim_schedule_id, "only claims that this schedule started",
        Compares<"claim_schedule_id", Term>);
  FIELDS_OF(ListedOwner, UpdatedAtBounds, Paging);
};

// Calls `visitor.operator()<R, Request>()` for every list, where R is the listed record.
template <class Visitor>
void for_each_list(Visitor&& visitor) {
  const auto visit = [&]<class... Request>() {
    (visitor.template operator()<typename Request::Listed, Request>(), ...);
  };
  visit.template operator()<ListIdentities, ListControls, ListOrchestrations, ListPayoutGroups,
                            ListRewardAddresses, ListBalances, ListClaims>();
}

}  // namespace comptroller
