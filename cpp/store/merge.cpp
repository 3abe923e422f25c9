#include "store/merge.hpp"

#include <algorithm>
#include <utility>

namespace comptroller::store {

namespace {

constexpr std::int64_t largest_batch = 256;

}  // namespace

Merge::Merge(Order order, std::size_t streams, Fetch fetch)
    : order_(order), fetch_(std::move(fetch)), streams_(streams) {
  std::vector<Position> head;
  for (std::size_t stream = 0; stream < streams; ++stream) {
    head.clear();
    fetch_(stream, std::nullopt, 1, head);
    if (!head.empty()) heads_.push_back({head.front(), stream});
  }
  std::ranges::make_heap(heads_, [this](const Head& left, const Head& right) {
    return is_later(left.position, right.position);
  });
}

Merge::Merge(Order order, std::vector<Position> positions)
    : order_(order), fetch_([](auto&&...) {}), streams_(1) {
  if (positions.empty()) return;
  std::ranges::sort(positions, [this](const Position& left, const Position& right) {
    return is_later(right, left);
  });
  heads_.push_back({positions.front(), 0});
  streams_.front().rows = std::move(positions);
  streams_.front().used = 1;
}

void Merge::push(Head head) {
  heads_.push_back(head);
  std::ranges::push_heap(heads_, [this](const Head& left, const Head& right) {
    return is_later(left.position, right.position);
  });
}

void Merge::read_on(const Head& taken) {
  Stream& stream = streams_[taken.stream];
  if (stream.used == stream.rows.size()) {
    stream.rows.clear();
    stream.used = 0;
    fetch_(taken.stream, taken.position, stream.batch, stream.rows);
    stream.batch = std::min(2 * stream.batch, largest_batch);
  }
  if (stream.used < stream.rows.size()) {
    push({stream.rows[stream.used], taken.stream});
    ++stream.used;
  }
}

std::optional<Position> Merge::next() {
  while (!heads_.empty()) {
    std::ranges::pop_heap(heads_, [this](const Head& left, const Head& right) {
      return is_later(left.position, right.position);
    });
    const Head taken = heads_.back();
    heads_.pop_back();
    read_on(taken);
    if (last_ == taken.position) continue;
    last_ = taken.position;
    return last_;
  }
  return std::nullopt;
}

}  // namespace comptroller::store
