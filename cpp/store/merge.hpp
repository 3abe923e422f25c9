// Merges many ordered streams, for lists that one statement cannot merge cheaply.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <vector>

#include "model/enums.hpp"

namespace comptroller::store {

// The position of a row in a list.
struct Position {
  std::int64_t created_at = 0;
  std::int64_t key = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// Whether a position comes later than another in a list of this order.
struct IsLater {
  Order order = Order::descending;
  bool operator()(const Position& left, const Position& right) const {
    return order == Order::descending ? left < right : right < left;
  }
};

// The positions of all streams in one order, without duplicates. Reads every stream in batches of
// 2, 4, 8, ... rows, beginning with the constructor. A merge reads at most two rows of each stream
// plus about twice the rows that it returns.
class Merge {
 public:
  // Appends up to `limit` positions of a stream to `out`, in order, starting after `after` if it is
  // set. A stream ends when fewer are appended.
  using Fetch = std::function<void(std::size_t stream, const std::optional<Position>& after,
                                   std::int64_t limit, std::vector<Position>& out)>;

  Merge(Order order, std::size_t streams, Fetch fetch);

  std::optional<Position> next();

 private:
  struct Stream {
    std::vector<Position> rows;  // the last batch
    std::size_t used = 0;
    std::int64_t batch_size = 2;
    bool has_ended = false;
  };
  struct Head {
    Position position;
    std::size_t stream = 0;
  };
  struct IsLaterHead : IsLater {
    bool operator()(const Head& left, const Head& right) const {
      return IsLater::operator()(left.position, right.position);
    }
  };

  void push_next(std::size_t number);

  Fetch fetch_;
  std::vector<Stream> streams_;
  std::priority_queue<Head, std::vector<Head>, IsLaterHead> heads_;
  std::optional<Position> last_;
};

// The positions of a merge that are not among the positions of another merge, which are excluded.
// Ends early after it has passed a maximum number of excluded positions.
class Difference {
 public:
  Difference(Order order, Merge positions, Merge excluded);

  std::optional<Position> next();
  // The position after which reading can go on, if `next` ended early.
  const std::optional<Position>& stopped_at() const { return stopped_at_; }

 private:
  IsLater is_later_;
  Merge positions_;
  Merge excluded_;
  std::optional<Position> next_excluded_;
  int passed_ = 0;
  std::optional<Position> stopped_at_;
};

}  // namespace comptroller::store
