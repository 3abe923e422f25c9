// Requests of lists: filters, paging and time bounds, each filter with the index that serves it.
#pragma once

#include <optional>
#include <vector>

#include "model/filters.hpp"
#include "model/records.hpp"

namespace comptroller {

// Page size, direction of created_at, and the page to continue from.
struct Paging {
  std::optional<PageLimit> limit;
  std::optional<Order> order;
  std::optional<PageCursor> page_cursor;
  using fields =
      Fields<Field<&Paging::limit, "items on a page, 1 to 1000; default 100">,
             Field<&Paging::order, "order by creation time; default DESC">,
             Field<&Paging::page_cursor,
                   "next_page_cursor of the previous page; the filters must be the same">>;
};

struct OfCustomer {
  std::optional<Id> customer_id;
  using fields =
      Fields<Field<&OfCustomer::customer_id,
                   "only records of this customer; a client may only name its own customer">>;
};

struct CreatedAtBounds {
  std::optional<Timestamp> lt, lte, eq, gte, gt;
  using fields = Fields<Field<&CreatedAtBounds::lt, "only records created before this time",
                              "created_at.lt", Created<Bound::before>>,
                        Field<&CreatedAtBounds::lte, "only records created at or before this time",
                              "created_at.lte", Created<Bound::until>>,
                        Field<&CreatedAtBounds::eq, "only records created at this time",
                              "created_at.eq", Created<Bound::at>>,
                        Field<&CreatedAtBounds::gte, "only records created at or after this time",
                              "created_at.gte", Created<Bound::from>>,
                        Field<&CreatedAtBounds::gt, "only records created after this time",
                              "created_at.gt", Created<Bound::after>>>;
};

// A filter of a list; its name is the name of the member.
template <auto Member, Literal Doc, class Selects>
using FilterBy = Field<Member, Doc, "", Selects>;

inline constexpr Index by_id{"id"};

struct ListIdentities : OfCustomer, CreatedAtBounds, Paging {
  std::vector<ControlType> control_types;
  std::vector<Word> control_reason_codes;
  std::optional<Label> ref_id;

  static constexpr Index by_time{"customer_id, created_at"};
  static constexpr Index by_control_type{"customer_id, type, identity_created_at, identity_key",
                                         "deleted_at IS NULL", "controls", "identity_created_at",
                                         "identity_key"};
  static constexpr Index by_reason_code{
      "customer_id, reason_code, identity_created_at, identity_key", "deleted_at IS NULL",
      "controls", "identity_created_at", "identity_key"};
  using fields =
      Concatenate<FilterBy<&ListIdentities::control_types,
                           "only identities with an active control of one of these types",
                           Equals<"type", ControlType, by_control_type>>,
                  FilterBy<&ListIdentities::control_reason_codes,
                           "only identities with an active control of one of these reason codes",
                           Equals<"reason_code", Word, by_reason_code>>,
                  FilterBy<&ListIdentities::ref_id, "only identities with this reference id",
                           Equals<"ref_id", Label, sparse_of_customer<"ref_id">>>,
                  OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct ListControls : OfCustomer, CreatedAtBounds, Paging {
  std::optional<Id> identity_id;
  std::optional<bool> include_deleted;
  std::optional<Timestamp> active_at;
  std::vector<ControlType> type;
  std::vector<SetBy> set_by;
  std::vector<Word> reason_code;

  // Every index contains this expression, so that a list of active controls skips deleted controls.
  static constexpr std::string_view is_active = "(deleted_at IS NULL)";
  static constexpr Index by_time = of_customer<"(deleted_at IS NULL)">;
  static constexpr Index by_identity{"identity_key, (deleted_at IS NULL), created_at"};
  using fields = Concatenate<
      FilterBy<&ListControls::identity_id, "only controls of this identity",
               Equals<"identity_key", KeyOf<StoredIdentity>, by_identity>>,
      FilterBy<&ListControls::include_deleted, "whether to include deleted controls; default false",
               Continues>,
      FilterBy<&ListControls::active_at, "only controls active at this time", Narrows>,
      FilterBy<&ListControls::type, "only controls of one of these types",
               Equals<"type", ControlType, of_customer<"type, (deleted_at IS NULL)">>>,
      FilterBy<&ListControls::set_by, "only controls set by one of these setters",
               Equals<"set_by", SetBy, of_customer<"set_by, (deleted_at IS NULL)">>>,
      FilterBy<&ListControls::reason_code, "only controls with one of these reason codes",
               Equals<"reason_code", Word, of_customer<"reason_code, (deleted_at IS NULL)">>>,
      OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct ListOrchestrations : OfCustomer, CreatedAtBounds, Paging {
  std::vector<Id> orchestration_rule_id, orchestration_id, profile_id;
  std::vector<Label> source_asset, destination_asset, ref_id;
  std::vector<Word> status;

  static constexpr Index by_time{"customer_id, created_at"};
  using fields = Concatenate<
      FilterBy<&ListOrchestrations::orchestration_rule_id,
               "only orchestrations initiated by one of these rules",
               Equals<"orchestration_rule_id", Id, sparse_of_customer<"orchestration_rule_id">>>,
      FilterBy<&ListOrchestrations::source_asset,
               "only orchestrations with one of these source assets", Equals<"source_asset", Term>>,
      FilterBy<&ListOrchestrations::destination_asset,
               "only orchestrations with one of these destination assets",
               Equals<"destination_asset", Term>>,
      FilterBy<&ListOrchestrations::status, "only orchestrations with one of these statuses",
               Equals<"status", Word>>,
      FilterBy<&ListOrchestrations::orchestration_id, "only orchestrations with one of these ids",
               Equals<"id", Id, by_id>>,
      FilterBy<&ListOrchestrations::profile_id,
               "only orchestrations that belong, or move value, to one of these profiles",
               AnyOf<Equals<"profile_id", Id, sparse_of_customer<"profile_id">>,
                     Equals<"destination_profile_id", Id,
                            sparse_of_customer<"destination_profile_id">>>>,
      FilterBy<&ListOrchestrations::ref_id, "only orchestrations with one of these reference ids",
               Equals<"ref_id", Label, sparse_of_customer<"ref_id">>>,
      OfCustomer::fields, CreatedAtBounds::fields, Paging::fields>;
};

struct ListPayoutGroups : OfCustomer, Paging {
  std::optional<Uuid> id;
  std::optional<Ledger> ledger;
  std::optional<Label> asset_type, jurisdiction, claimer_address;
  std::vector<Word> onchain_status;
  std::optional<Name> name_prefix;

  static constexpr Index by_time{"customer_id, created_at"};
  using fields = Concatenate<
      FilterBy<&ListPayoutGroups::id, "only the group with this id", Equals<"id", GroupId, by_id>>,
      FilterBy<&ListPayoutGroups::ledger, "only groups on this ledger", Equals<"ledger", Ledger>>,
      FilterBy<&ListPayoutGroups::asset_type, "only groups paid in this asset",
               Equals<"asset_type", Term>>,
      FilterBy<&ListPayoutGroups::jurisdiction, "only groups in this jurisdiction",
               Equals<"jurisdiction", Term>>,
      FilterBy<&ListPayoutGroups::claimer_address,
               "only groups with this claimer_address; case matters on SOLANA only",
               Equals<"claimer_address", Label>>,
      FilterBy<&ListPayoutGroups::onchain_status, "only groups with one of these statuses",
               Equals<"onchain_status", Word>>,
      FilterBy<&ListPayoutGroups::name_prefix,
               "only groups whose name begins with this text; case matters", BeginsWith<"name">>,
      OfCustomer::fields, Paging::fields>;
};

struct ListRewardAddresses : OfCustomer, Paging {
  std::optional<Ledger> ledger;
  std::optional<Label> address;
  std::optional<Uuid> id;
  std::optional<GroupId> payout_group_id;
  std::optional<bool> include_balance;
  std::optional<Timestamp> balance_timestamp;

  static constexpr Index by_time{"customer_id, created_at"};
  static constexpr Index by_address{"ledger, address"};
  static constexpr Index by_group{"payout_group_id, created_at", "payout_group_id IS NOT NULL"};
  using fields = Concatenate<
      FilterBy<&ListRewardAddresses::ledger, "only addresses on this ledger",
               Equals<"ledger", Ledger>>,
      FilterBy<&ListRewardAddresses::address, "only this address; case matters on SOLANA only",
               Equals<"address", Label, by_address>>,
      FilterBy<&ListRewardAddresses::id, "only the address with this id",
               Equals<"id", Uuid, by_id>>,
      FilterBy<&ListRewardAddresses::payout_group_id,
               "only addresses attributed to this payout group",
               Equals<"payout_group_id", GroupId, by_group>>,
      Field<&ListRewardAddresses::include_balance,
            "whether to show the balance of each address; default false">,
      Field<&ListRewardAddresses::balance_timestamp, "time of the balances; default now">,
      OfCustomer::fields, Paging::fields>;
};

struct ListBalances : Paging {
  std::optional<Uuid> address_id;

  static constexpr Index by_time{.columns = "at", .time = "at"};
  static constexpr Index by_address{.columns = "address_id, at", .time = "at"};
  using fields =
      Concatenate<FilterBy<&ListBalances::address_id, "only balances of this reward address",
                           Equals<"address_id", Uuid, by_address>>,
                  Paging::fields>;
};

struct ListClaims : OfCustomer, Paging {
  std::optional<GroupId> payout_group_id;
  std::vector<ClaimStatus> statuses;
  std::optional<Label> chain, jurisdiction;
  std::optional<Timestamp> start_time, end_time;
  std::optional<Id> id;

  // Three indexes contain the status, so that claims of a rare status are found among many rows.
  static constexpr Index by_time{"customer_id, created_at"};
  static constexpr Index by_group{"payout_group_id, onchain_status, created_at"};
  static constexpr Index by_jurisdiction = of_customer<"jurisdiction, onchain_status">;
  using fields =
      Concatenate<FilterBy<&ListClaims::payout_group_id, "only claims of this payout group",
                           Equals<"payout_group_id", GroupId, by_group>>,
                  FilterBy<&ListClaims::statuses, "only claims with one of these statuses",
                           Equals<"onchain_status", ClaimStatus>>,
                  FilterBy<&ListClaims::chain, "only claims on this blockchain",
                           Equals<"blockchain", Term, of_customer<"blockchain, onchain_status">>>,
                  FilterBy<&ListClaims::jurisdiction,
                           "only claims whose payout group is now in this jurisdiction",
                           Equals<"jurisdiction", Term, by_jurisdiction>>,
                  FilterBy<&ListClaims::start_time, "only claims created at or after this time",
                           Created<Bound::from>>,
                  FilterBy<&ListClaims::end_time, "only claims created at or before this time",
                           Created<Bound::until>>,
                  FilterBy<&ListClaims::id, "only the claim with this id", Equals<"id", Id, by_id>>,
                  OfCustomer::fields, Paging::fields>;
};

// Calls `visitor.operator()<R, Request>()` for every list, where R is the listed record.
template <class Visitor>
void for_each_list(Visitor&& visitor) {
  visitor.template operator()<StoredIdentity, ListIdentities>();
  visitor.template operator()<Control, ListControls>();
  visitor.template operator()<Orchestration, ListOrchestrations>();
  visitor.template operator()<PayoutGroup, ListPayoutGroups>();
  visitor.template operator()<RewardAddress, ListRewardAddresses>();
  visitor.template operator()<Balance, ListBalances>();
  visitor.template operator()<Claim, ListClaims>();
}

}  // namespace comptroller
