// Cursors of the change feed: places, encrypted for the feed of one customer or that of all.
#pragma once

#include "service/operation.hpp"
#include "store/change_feed.hpp"

namespace comptroller::service {

// The cursor of the place after a change.
PageCursor feed_cursor(const Context& context, const store::FeedPosition& position);
// The cursor of the place where a page ends, which may be after entries of other customers. A
// client cannot compare two of them.
PageCursor end_cursor(const Context& context, const store::FeedPosition& end);

// Returns the place of a cursor of the caller's feed, or that of `end`. Throws invalid_cursor, also
// for a place behind the end.
store::FeedPosition feed_position(const Context& context, const PageCursor& cursor);

}  // namespace comptroller::service
