// Merges many ordered streams, for lists that one statement cannot merge cheaply.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <span>
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
  Order order = Order::desc;
  bool operator()(const Position& left, const Position& right) const {
    return order == Order::desc ? left < right : right < left;
  }
};

// A row that a list visits: its position, and whether it meets the conditions of the list.
struct Candidate {
  Position position;
  bool matches = true;
};

// Returns the next row that a list visits, in the order of the list; nullopt at the end.
using Candidates = std::function<std::optional<Candidate>()>;

// Where a batch of a stream begins: behind `after`, or at the first row.
struct StreamBatch {
  std::size_t stream = 0;
  std::optional<Position> after = std::nullopt;
};

// The rows of all streams in one order, without duplicates. Reads every stream in batches of
// 2, 4, 8, ... rows, or from another first number on, beginning with the constructor. A merge reads
// at most the first batch of each stream plus about twice the rows that it returns; with announced
// batches, about four times.
class Merge {
 public:
  // Appends up to `limit` rows of a batch to `out`, in order. A stream ends when fewer are
  // appended.
  using Fetch = std::function<void(const StreamBatch& batch, std::int64_t limit,
                                   std::vector<Candidate>& out)>;
  // Reads batches ahead, each of up to `limit` rows. The first of them is fetched next; the others
  // are of streams with at most half of a batch left, and would be as large at least.
  using Announce = std::function<void(std::span<const StreamBatch> batches, std::int64_t limit)>;

  Merge(Order order, std::size_t streams, Fetch fetch, std::int64_t first_batch = 2,
        Announce announce = nullptr);

  std::optional<Candidate> next();

 private:
  struct Stream {
    std::vector<Candidate> rows = {};  // the last batch
    std::size_t used = 0;
    std::int64_t batch_size = 0;
    bool has_ended = false;
    bool is_announced = false;  // the next batch

    std::optional<Position> last() const {
      return rows.empty() ? std::nullopt : std::optional(rows.back().position);
    }
  };
  struct Head {
    Candidate row;
    std::size_t stream = 0;
  };
  struct IsLaterHead : IsLater {
    bool operator()(const Head& left, const Head& right) const {
      return IsLater::operator()(left.row.position, right.row.position);
    }
  };

  void push_next(std::size_t number);
  void announce_with(std::size_t number);

  Fetch fetch_;
  Announce announce_;
  std::int64_t max_batch_size_;
  std::vector<Stream> streams_;
  std::priority_queue<Head, std::vector<Head>, IsLaterHead> heads_;
  std::optional<Position> last_;
};

}  // namespace comptroller::store
