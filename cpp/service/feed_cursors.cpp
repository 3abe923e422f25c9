#include "service/feed_cursors.hpp"

#include "model/error.hpp"
#include "service/cursor.hpp"
#include "store/journal.hpp"

namespace comptroller::service {

namespace {

using store::FeedPosition;

// The low bits of a sealed position, which hold the part of a batch.
constexpr unsigned part_bits = 6;
constexpr std::int64_t part_mask = (1 << part_bits) - 1;
static_assert(FeedPosition::whole_entry <= part_mask);

// The cursor of the place after the last change until now.
constexpr std::string_view end_of_feed = "end";

// What a cursor belongs to: the feed of all customers, or that of a client's customer.
std::string describe_feed(const Context& context) {
  return "changes.list\n" + context.principal.customer.value_or("");
}

store::Position sealed(const FeedPosition& position) {
  return {position.sequence * (part_mask + 1) + position.part, position.key};
}

}  // namespace

PageCursor feed_cursor(const Context& context, const FeedPosition& position) {
  return {seal_cursor(context.cursor_keys, describe_feed(context), sealed(position))};
}

PageCursor end_cursor(const Context& context, const FeedPosition& end) {
  return {seal_unlinkable_cursor(context.cursor_keys, describe_feed(context), sealed(end))};
}

FeedPosition feed_position(const Context& context, const PageCursor& cursor) {
  const auto size = static_cast<std::int64_t>(store::journal_size(context.connection));
  if (cursor.value == end_of_feed) return {.sequence = size - 1};
  const auto opened =
      open_cursor(context.cursor_keys, describe_feed(context), cursor.value, "after");
  if (!opened) return {};
  const FeedPosition position{opened->created_at >> part_bits, opened->created_at & part_mask,
                              opened->key};
  if (position.sequence >= size) {
    throw Error::field(Code::invalid_cursor, "after",
                       "is behind the end of the feed, because an older backup was restored; send "
                       "the request without a cursor");
  }
  return position;
}

}  // namespace comptroller::service
