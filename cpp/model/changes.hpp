// The change feed: its request, and its answer.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/lists.hpp"

namespace comptroller {

// The resources whose records change; the name of each is that of its table.
#define COMPTROLLER_CHANGED_RESOURCE(ROW)                 \
  ROW(identities, "identities")                           \
  ROW(controls, "identity controls")                      \
  ROW(orchestrations, "orchestrations")                   \
  ROW(payout_groups, "payout groups")                     \
  ROW(reward_addresses, "reward addresses")               \
  ROW(balances, "balances, which only the operator sees") \
  ROW(claims, "reward claims")
enum class ChangedResource : std::uint8_t { COMPTROLLER_CHANGED_RESOURCE(COMPTROLLER_ENUMERATOR) };
#define COMPTROLLER_RESOURCE_VALUE(name, meaning) {#name, meaning},
template <>
inline constexpr auto values_of<ChangedResource> =
    std::to_array<EnumValue>({COMPTROLLER_CHANGED_RESOURCE(COMPTROLLER_RESOURCE_VALUE)});

// A JSON object of members of a record.
struct Members {
  static constexpr std::string_view kind = "members";
  std::string text;
  JsonText<Members> view() const { return {text}; }
};

// The number of an entry of the journal, which counts the writes of all customers.
struct EntryNumber {
  static constexpr std::string_view kind = "number";
  static constexpr Audience shown_to = Audience::provider;
  std::int64_t value = 0;
  std::int64_t view() const { return value; }
};

struct Change {
  RECORD(Change, "A change of a record: what was written, when and by whom.");
  FIELD(PageCursor, cursor, "the place after this change in the feed; never expires");
  FIELD(std::optional<EntryNumber>, sequence,
        "the entry of the journal; shown to the operator only");
  FIELD(Timestamp, recorded_at, "when it was written");
  FIELD(Label, actor, "id of the client, or a name of the operator such as ``operator:desk``");
  FIELD(Label, operation, "such as ``controls.create`` or ``claims.load``");
  FIELD(ChangedResource, resource, "the resource of the record");
  FIELD(Id, id, "identifies the record; of a balance, its address");
  FIELD(std::optional<OwnerId>, customer_id,
        "the customer of the record; shown to the operator only");
  FIELD(std::optional<Members>, before,
        "the earlier values of the members that changed; the whole record if it was removed, "
        "unset if it was created");
  FIELD(std::optional<Members>, after,
        "the new values of the members that changed; the whole record if it was created, unset if "
        "it was removed. A member that is not set is left out, and a document such as "
        "``metadata`` is its JSON text");
};

struct ChangePage {
  RECORD(ChangePage, "Changes in order of commit.");
  FIELD(std::vector<Change>, items, "the changes; a page that is not the last may have none");
  FIELD(PageCursor, next_cursor, "the place after this page in the feed; never empty");
  FIELD(bool, has_more, "whether the feed goes on after this page");
};

struct ListChanges : ListedOwner {
  RECORD(ListChanges);
  FIELD(std::optional<PageCursor>, after,
        "``cursor`` of a change or ``next_cursor`` of a page; default: the beginning of the feed");
  FIELD(std::vector<ChangedResource>, resources,
        "only changes of records of these resources; default: all that the caller may read");
  FIELDS_OF(ListedOwner);
  FIELD(std::optional<PageLimit>, limit, "changes on a page, 1 to 1000", Default<100>);
};

}  // namespace comptroller
