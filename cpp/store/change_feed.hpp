// The change feed: each change of a record once, in order of commit. An entry of the journal is one
// change, and the entry of a batch one for each record that it inserted.
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "db/database.hpp"
#include "model/changes.hpp"
#include "store/page_bytes.hpp"

namespace comptroller::store {

// A place in the feed: after an entry of the journal, or after a record of a batch.
struct FeedPosition {
  static constexpr std::int64_t whole_entry = 63;  // more than the parts of any batch

  std::int64_t sequence = -1;
  std::int64_t part = whole_entry;  // of the batch, in the order of its entry
  std::int64_t key = 0;             // of the record

  // The entry of the next change.
  std::int64_t next_entry() const { return sequence + (part == whole_entry ? 1 : 0); }
  auto operator<=>(const FeedPosition&) const = default;
};

// Throws invalid_cursor if the entry of the next change after a place is only in an archive. A feed
// from the beginning begins with the records that the newest archive has.
void require_stored(db::Connection& connection, const FeedPosition& after);

struct FeedQuery {
  FeedPosition after = {};
  std::optional<std::string> customer = {};  // only its records
  std::vector<ChangedResource> resources = {};
  Audience audience = Audience::provider;
  std::size_t limit = 0;
  PageBytes bytes = {};
};

// A change, which lacks its cursor.
struct FeedChange {
  FeedPosition position;
  Change change;
};

struct FeedPage {
  std::vector<FeedChange> changes;
  FeedPosition end;  // after the last entry or record that was visited
  bool has_more = false;
};

// Returns the changes after a place. Visits at most max_rows_visited entries and records.
//
// A record of a batch is shown as its transaction left it, so the entries of its other changes in
// this transaction, which precede that of the batch, are not shown. Later changes are unwound.
FeedPage read_feed(db::Connection& connection, const FeedQuery& query);

}  // namespace comptroller::store
