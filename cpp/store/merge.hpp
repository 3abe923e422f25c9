// A merge of many ordered streams, for the lists that one statement cannot merge cheaply.
#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "model/enums.hpp"

namespace comptroller::store {

// A row's place in a list.
struct Position {
  std::int64_t created_at = 0;
  std::int64_t key = 0;
  friend auto operator<=>(const Position&, const Position&) = default;
};

// The positions of all streams in one order, each once even if several streams have it. Reads the
// first row of every stream at the start; a stream that wins is read on in batches of 1, 2, 4, ...
// rows, so a merge reads at most about twice the rows it gives.
class Merge {
 public:
  // Appends up to `limit` positions of a stream to `out`, in order, behind `after` if there is one.
  using Fetch = std::function<void(std::size_t stream, const std::optional<Position>& after,
                                   std::int64_t limit, std::vector<Position>& out)>;

  Merge(Order order, std::size_t streams, Fetch fetch);
  // Of one stream that was read whole, in any order.
  Merge(Order order, std::vector<Position> positions);

  std::optional<Position> next();

 private:
  struct Stream {
    std::vector<Position> rows;  // empty while only the head was read
    std::size_t used = 0;
    std::int64_t batch = 1;
  };
  struct Head {
    Position position;
    std::size_t stream = 0;
  };

  bool is_later(const Position& left, const Position& right) const {
    return order_ == Order::descending ? left < right : right < left;
  }
  void push(Head head);
  void read_on(const Head& taken);

  Order order_;
  Fetch fetch_;
  std::vector<Stream> streams_;
  std::vector<Head> heads_;  // a heap
  std::optional<Position> last_;
};

}  // namespace comptroller::store
