// The change feed and the journal: their requests and answers.
#pragma once

#include <charconv>
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

// The resources whose changes are entries of the journal.
#define COMPTROLLER_JOURNAL_RESOURCE(ROW) \
  COMPTROLLER_CHANGED_RESOURCE(ROW)       \
  ROW(webhooks, "webhooks, which are no records of the feed")
enum class JournalResource : std::uint8_t { COMPTROLLER_JOURNAL_RESOURCE(COMPTROLLER_ENUMERATOR) };
template <>
inline constexpr auto values_of<JournalResource> =
    std::to_array<EnumValue>({COMPTROLLER_JOURNAL_RESOURCE(COMPTROLLER_RESOURCE_VALUE)});

// A JSON object of members of a record.
struct Members {
  static constexpr std::string_view kind = "members";
  std::string text;
  JsonText<Members> view() const { return {text}; }
};

// The number of an entry of the journal. It counts the writes of all customers, so only callers who
// may read the journal see it.
struct EntryNumber {
  static constexpr std::string_view kind = "number";
  std::int64_t value = 0;
  static std::optional<EntryNumber> parse(std::string_view text) {
    EntryNumber number;
    const char* end = text.data() + text.size();
    const auto [stop, failure] = std::from_chars(text.data(), end, number.value);
    if (failure != std::errc{} || stop != end || number.value < 0) return std::nullopt;
    return number;
  }
  static std::string expectation() { return "a whole number from 0"; }
  std::int64_t view() const { return value; }
};
struct OperatorsEntryNumber : EntryNumber {
  static constexpr Audience shown_to = Audience::provider;
};

// A JSON document as a text of any length.
struct JsonDocument {
  static constexpr std::string_view kind = "string";
  static constexpr std::size_t minimum_length = 2;
  std::string value;
};

struct Change {
  RECORD(Change, "A change of a record: what was written, when and by whom.");
  FIELD(PageCursor, cursor,
        "the place after this change in the feed; valid until changes after it are archived");
  FIELD(std::optional<OperatorsEntryNumber>, sequence,
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
        "``cursor`` of a change or ``next_cursor`` of a page, or ``end`` for the changes from now "
        "on; "
        "default: the beginning of the feed");
  FIELD(std::vector<ChangedResource>, resources,
        "only changes of records of these resources; default: all that the caller may read");
  FIELDS_OF(ListedOwner);
  FIELD(std::optional<PageLimit>, limit, "changes on a page, 1 to 1000", Default<100>);
};

struct JournalPage {
  RECORD(JournalPage, "Entries of the journal in order of commit.");
  FIELD(std::vector<Members>, items,
        "the entries; the canonical JSON (RFC 8785) of each is a leaf");
  FIELD(EntryNumber, last, "the number of the last entry that was visited; continue after it");
  FIELD(bool, has_more, "whether the journal goes on after this page");
};

struct ListJournal {
  RECORD(ListJournal);
  FIELD(std::optional<EntryNumber>, after, "only entries after the one with this sequence number");
  FIELD(std::optional<JournalResource>, resource, "only entries of records of this resource");
  FIELD(std::optional<Id>, id,
        "only entries of the record with this id; of a record that a load inserted, those of "
        "later changes");
  FIELD(std::optional<PageLimit>, limit, "entries on a page, 1 to 1000", Default<100>);
};

struct ProveEntry {
  RECORD(ProveEntry);
  FIELD(EntryNumber, sequence, "the number of the entry");
};

struct InclusionProof {
  RECORD(InclusionProof, "A proof that an entry is in the journal (RFC 9162, section 2.1.3).");
  FIELD(JsonDocument, entry,
        "its canonical JSON, whose SHA-256 behind a zero byte is a leaf of the tree");
  FIELD(EntryNumber, sequence, "the number of the leaf");
  FIELD(EntryNumber, size, "the number of leaves of the tree");
  FIELD(Label, root, "the root of the tree, in hexadecimal");
  FIELD(std::vector<Label>, proof,
        "the hashes that lead from the leaf to the root, in hexadecimal");
};

}  // namespace comptroller
