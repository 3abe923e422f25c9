#include "store/merge.hpp"

#include <algorithm>
#include <utility>

namespace comptroller::store {

namespace {

constexpr std::int64_t max_batch_size = 256;
// Of a page, so that its cost does not depend on their number. Less than a millisecond.
constexpr int max_passed = 500;

}  // namespace

Merge::Merge(Order order, std::size_t streams, Fetch fetch)
    : fetch_(std::move(fetch)), streams_(streams), heads_(IsLaterHead{{order}}) {
  for (std::size_t number = 0; number < streams; ++number) push_next(number);
}

void Merge::push_next(std::size_t number) {
  Stream& stream = streams_[number];
  if (stream.used == stream.rows.size() && !stream.has_ended) {
    const auto after = stream.rows.empty() ? std::nullopt : std::optional(stream.rows.back());
    stream.rows.clear();
    stream.used = 0;
    fetch_(number, after, stream.batch_size, stream.rows);
    stream.has_ended = std::cmp_less(stream.rows.size(), stream.batch_size);
    stream.batch_size = std::min(2 * stream.batch_size, max_batch_size);
  }
  if (stream.used < stream.rows.size()) heads_.push({stream.rows[stream.used++], number});
}

std::optional<Position> Merge::next() {
  while (!heads_.empty()) {
    const Head head = heads_.top();
    heads_.pop();
    push_next(head.stream);
    if (last_ == head.position) continue;
    last_ = head.position;
    return last_;
  }
  return std::nullopt;
}

Difference::Difference(Order order, Merge positions, Merge excluded)
    : is_later_{order},
      positions_(std::move(positions)),
      excluded_(std::move(excluded)),
      next_excluded_(excluded_.next()) {}

std::optional<Position> Difference::next() {
  while (const auto position = positions_.next()) {
    bool is_excluded = false;
    while (next_excluded_ && !is_later_(*next_excluded_, *position)) {
      is_excluded = next_excluded_ == position;
      if (++passed_ == max_passed) {
        stopped_at_ = next_excluded_;
        return std::nullopt;
      }
      next_excluded_ = excluded_.next();
    }
    if (!is_excluded) return position;
  }
  return std::nullopt;
}

}  // namespace comptroller::store
