#include "store/merge.hpp"

#include <algorithm>
#include <utility>

namespace comptroller::store {

namespace {

constexpr std::int64_t largest_growth = 128;

}  // namespace

Merge::Merge(Order order, std::size_t streams, Fetch fetch, std::int64_t first_batch)
    : fetch_(std::move(fetch)),
      max_batch_size_(first_batch * largest_growth),
      streams_(streams, Stream{.batch_size = first_batch}),
      heads_(IsLaterHead{{order}}) {
  for (std::size_t number = 0; number < streams; ++number) push_next(number);
}

void Merge::push_next(std::size_t number) {
  Stream& stream = streams_[number];
  if (stream.used == stream.rows.size() && !stream.has_ended) {
    const auto after =
        stream.rows.empty() ? std::nullopt : std::optional(stream.rows.back().position);
    stream.rows.clear();
    stream.used = 0;
    fetch_(number, after, stream.batch_size, stream.rows);
    stream.has_ended = std::cmp_less(stream.rows.size(), stream.batch_size);
    stream.batch_size = std::min(2 * stream.batch_size, max_batch_size_);
  }
  if (stream.used < stream.rows.size()) heads_.push({stream.rows[stream.used++], number});
}

std::optional<Candidate> Merge::next() {
  while (!heads_.empty()) {
    const Head head = heads_.top();
    heads_.pop();
    push_next(head.stream);
    if (last_ == head.row.position) continue;
    last_ = head.row.position;
    return head.row;
  }
  return std::nullopt;
}

}  // namespace comptroller::store
