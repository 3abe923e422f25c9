#include "store/merge.hpp"

#include <algorithm>
#include <utility>

namespace comptroller::store {

namespace {

constexpr std::int64_t largest_growth = 128;

}  // namespace

Merge::Merge(Order order, std::size_t streams, Fetch fetch, std::int64_t first_batch,
             Announce announce)
    : fetch_(std::move(fetch)),
      announce_(std::move(announce)),
      max_batch_size_(first_batch * largest_growth),
      streams_(streams, Stream{.batch_size = first_batch}),
      heads_(IsLaterHead{{order}}) {
  for (std::size_t number = 0; number < streams; ++number) push_next(number);
}

void Merge::push_next(std::size_t number) {
  Stream& stream = streams_[number];
  if (stream.used == stream.rows.size() && !stream.has_ended) {
    if (announce_ && !stream.is_announced) announce_with(number);
    const StreamBatch batch{number, stream.last()};
    stream.rows.clear();
    stream.used = 0;
    stream.is_announced = false;
    fetch_(batch, stream.batch_size, stream.rows);
    stream.has_ended = std::cmp_less(stream.rows.size(), stream.batch_size);
    stream.batch_size = std::min(2 * stream.batch_size, max_batch_size_);
  }
  if (stream.used < stream.rows.size()) heads_.push({stream.rows[stream.used++], number});
}

// Gives the batches the size of the stream's next one, so that one statement reads them all.
void Merge::announce_with(std::size_t number) {
  const std::int64_t limit = streams_[number].batch_size;
  std::vector<StreamBatch> batches;
  for (std::size_t other = number; other < number + streams_.size(); ++other) {
    const std::size_t place = other % streams_.size();
    Stream& stream = streams_[place];
    if (stream.has_ended || stream.is_announced || stream.batch_size < limit) continue;
    if (2 * stream.used < stream.rows.size()) continue;
    stream.batch_size = limit;
    stream.is_announced = true;
    batches.push_back({place, stream.last()});
  }
  announce_(batches, limit);
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
